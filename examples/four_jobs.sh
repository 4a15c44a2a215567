#!/bin/sh
# Four jobs at once on the same pictures: the first one starts the daemon, all get what it prepares.
#
#     sh examples/four_jobs.sh [FOLDER]
#
# The daemon ends a minute after the last job.
# Needs: pip install '.[torch,images]', in the clone. PYTHON names another interpreter than `python3`.
set -e
here=$(dirname "$0")
python=${PYTHON:-python3}
jobs=
trap 'kill $jobs; exit 143' HUP INT TERM
for job in 1 2 3 4; do
    "$python" "$here/single_job.py" "$@" &
    jobs="$jobs $!"
done
for job in $jobs; do
    wait "$job"
done
"$python" -m joader.cli.main status
