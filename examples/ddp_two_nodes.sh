#!/bin/sh
# One training job over two machines (torchrun, DDP); here both "machines" are daemons on this one.
#
#     sh examples/ddp_two_nodes.sh [FOLDER]
#
# On real machines run `joader up -d --cluster node1:27117` on each, with the same key file, and then
# on each the usual torchrun with --nnodes=2, --node-rank, --master-addr and --master-port. The script
# is the same as on one machine: `job=` or a DistributedSampler makes the ranks one job, with one plan,
# and each rank reads what its machine has (locality=False splits every step uniformly instead).
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

free_port() { "$python" -c 'import socket; print(socket.create_server(("127.0.0.1", 0)).getsockname()[1])'; }
port=$(free_port)
master_port=$(free_port)
JOADER_CLUSTER_KEY=$("$python" -c 'import secrets; print(secrets.token_hex())')
export JOADER_CLUSTER_KEY OMP_NUM_THREADS=1

export EXAMPLE_IMAGES="${EXAMPLE_IMAGES:-2000}"
photos=${1:-$work/photos}
if [ ! -d "$photos" ]; then
    echo "making $EXAMPLE_IMAGES pictures"
    PYTHONPATH=$here "$python" -c 'import example_images; example_images.folder()' "$photos"
fi
for node in node1 node2; do
    mkdir -m 700 "$work/$node"
    on $node joader up -d --no-dashboard --memory 256MiB --cluster 127.0.0.1:$port
done
for rank in 0 1; do
    node=node$((rank + 1)) # not by `on`, so that $! is the job itself
    JOADER_NODE=$node JOADER_RUNTIME=$work/$node "$python" -m torch.distributed.run \
        --nnodes=2 --nproc-per-node=1 --node-rank=$rank \
        --master-addr=127.0.0.1 --master-port="$master_port" "$here/ddp.py" "$photos" &
    jobs="$jobs $!"
done
for job in $jobs; do wait "$job"; done
jobs=
on node1 joader status
