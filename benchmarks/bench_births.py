"""What a nursery and a worker that has not worked yet own of memory, and how soon they are there.

A job that has imported torch and holds `--tuples` (path, label) tuples forks its nursery. Each
worker looks at itself in `worker_init_fn`, before its first row. Private dirty pages are the
kernel's (smaps_rollup).

    python benchmarks/bench_births.py --workers 4 --tuples 1000000
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import machine, report

JOB = """
import json, os, sys, time
import torch
from joader import DataLoader

def dirty_kb(pid):
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Private_Dirty"))

def look(worker):
    with open(sys.argv[1], "a") as file:
        file.write(f"{dirty_kb(os.getpid())} {dirty_kb(os.getppid())}\\n")

class Rows:
    def __init__(self, count):
        self.samples = [(f"/data/{n}.jpg", n % 1000) for n in range(count)]
    def __len__(self):
        return len(self.samples)
    def __getitem__(self, row):
        time.sleep(0.01)
        return row

rows = Rows(int(sys.argv[3]))
start = time.perf_counter()
loader = DataLoader(rows, batch_size=64, num_workers=int(sys.argv[2]), worker_init_fn=look)
made = time.perf_counter()
batches = iter(loader)
begun = time.perf_counter()
next(batches)
first = time.perf_counter()
print(json.dumps({"made_s": made - start, "begun_s": begun - made, "first_s": first - begun}))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--tuples", type=int, default=1_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="joader-bench-") as folder:
        seen = Path(folder) / "seen"
        command = [sys.executable, "-c", JOB, str(seen), str(options.workers), str(options.tuples)]
        environment = {**os.environ, "JOADER_RUNTIME": folder, "JOADER_IDLE_S": "1"}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
        told = {name: round(value, 3) for name, value in json.loads(done.stdout).items()}
        pairs = [tuple(map(int, line.split())) for line in seen.read_text().splitlines()]
    row: dict[str, object] = {
        "tuples": options.tuples,
        "worker_kb": [worker for worker, _ in pairs],
        "nursery_kb": max(nursery for _, nursery in pairs),
        **told,
    }
    print(row)
    report("births", machine(), (__doc__ or "").split("\n\n")[1], [row])


if __name__ == "__main__":
    main()
