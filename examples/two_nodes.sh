#!/bin/sh
# Four jobs on two machines that share; here both "machines" are daemons on this one.
#
#     sh examples/two_nodes.sh [FOLDER]
#
# On real machines run `joader up -d --cluster node1:27117` on each, with the same key file, and your
# scripts as always. A job finds the daemon of its own machine, and the others through it.
#
# Needs: pip install '.[torch,images]', in the clone. PYTHON names another interpreter than `python3`.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
python=${PYTHON:-python3}

on() { # on NODE COMMAND...: do something on one of the two
    node=$1
    shift
    JOADER_NODE=$node JOADER_RUNTIME=$work/$node "$@"
}
joader() { "$python" -m joader.cli.main "$@"; }
finish() {
    kill $jobs 2>/dev/null || true
    wait
    for node in node1 node2; do on $node joader down --force >/dev/null 2>&1 || true; done
    rm -rf "$work"
}
jobs=
work=$(mktemp -d)
trap finish EXIT
trap 'exit 143' HUP INT TERM # a signal alone would end this without `finish`

port=$("$python" -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
JOADER_CLUSTER_KEY=$("$python" -c 'import secrets; print(secrets.token_hex())')
export JOADER_CLUSTER_KEY

# Nodes first compare 64 pictures with each other, so a few hundred would show nothing.
export EXAMPLE_IMAGES="${EXAMPLE_IMAGES:-4000}"
photos=${1:-$work/photos}
if [ ! -d "$photos" ]; then
    echo "making $EXAMPLE_IMAGES pictures"
    PYTHONPATH=$here "$python" -c 'import example_images; example_images.folder()' "$photos"
fi
for node in node1 node2; do
    mkdir -m 700 "$work/$node"
    on $node joader up -d --no-dashboard --memory 256MiB --cluster 127.0.0.1:$port
done
for node in node1 node2 node1 node2; do
    # Not by `on`, so that $! is the job itself.
    JOADER_NODE=$node JOADER_RUNTIME=$work/$node "$python" "$here/single_job.py" "$photos" &
    jobs="$jobs $!"
done
for job in $jobs; do wait "$job"; done
jobs=
on node1 joader status
