"""What a nursery and a worker that has not worked yet own: memory of their own, and time to be born.

A job that has imported torch and holds `--tuples` (path, label) tuples forks its nursery; workers
are born for rows that wait at a gate, so that none has worked when it is looked at. Private dirty
pages are the kernel's (smaps_rollup).

    python benchmarks/bench_births.py --workers 4 --tuples 1000000
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from harness import machine, report

JOB = """
import json, os, sys, threading, time
import numpy as np, torch
from joader import DataLoader

class Rows:
    def __init__(self, count):
        self.samples = [(f"/data/{n}.jpg", n % 1000) for n in range(count)]
    def __len__(self):
        return len(self.samples)
    def __getitem__(self, row):
        while os.path.exists(sys.argv[1]):
            time.sleep(0.05)
        return row

workers = int(sys.argv[2])
rows = Rows(int(sys.argv[3]))
start = time.perf_counter()
loader = DataLoader(rows, batch_size=64, num_workers=workers, deterministic=True)
made = time.perf_counter()
batches = iter(loader)
print(json.dumps({"pid": os.getpid(), "looked_s": made - start, "begun_s": time.perf_counter() - made}), flush=True)
next(batches)
print("done", flush=True)
"""


def dirty_kb(pid: int) -> int:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Private_Dirty"):
            return int(line.split()[1])
    return 0


def children(pid: int) -> list[int]:
    return [int(w) for w in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--tuples", type=int, default=1_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="joader-bench-") as folder:
        gate = Path(folder) / "gate"
        gate.touch()
        command = [sys.executable, "-c", JOB, str(gate), str(options.workers), str(options.tuples)]
        environment = {**os.environ, "JOADER_RUNTIME": folder, "JOADER_IDLE_S": "1"}
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        time.sleep(1.5)
        (nursery,) = children(told["pid"])
        born = children(nursery)
        row: dict[str, object] = {
            "tuples": options.tuples,
            "nursery_kb": dirty_kb(nursery),
            "worker_kb": [dirty_kb(pid) for pid in born],
            "looked_s": round(told["looked_s"], 3),
            "begun_s": round(told["begun_s"], 3),
        }
        gate.unlink()
        process.communicate(timeout=60)
    print(row)
    report("births", machine(), (__doc__ or "").split("\n\n")[1], [row])


if __name__ == "__main__":
    main()
