"""Raw and prepared samples side by side in memory, against one form alone.

    python benchmarks/bench_forms.py [--rows 1000] [--live 400]

Simulated (papers/simulators/two_forms.py): milliseconds of reading and preparing per row that a
job reads.

Live: a job reads a storage of the kind that joader reads apart from preparing it, row by row from a
web server of its own process (throttled_store.py) that takes 20 ms for each. A row has 16 KiB; to
prepare it takes 8 ms of a processor and makes 28.5 KiB of it. *prepared*: a daemon that keeps no
raw forms; *raw*: the same steps as the job's own (`transform=`), so that raw bytes are what is
kept; *both*: as joader does by itself. Rows that the server was asked for and rows that were
prepared are counted in later passes, and give the milliseconds per row; beside them those that the
simulation gives for the same costs, sizes and memory.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random

from bench_stages import store, turn
from harness import machine, report
from live_jobs import status
from row_over_http import ask

from joader.cache.two_forms import Costs
from papers.simulators.two_forms import WAYS, spent_per_row

READ_S, PREPARE_S, RAW_BYTES, PREPARED_BYTES = 0.020, 0.008, 16_384 + 64, 29_184
WARM, PASSES = 2, 2
DAEMON = """
import sys
from joader.cache import two_forms
if sys.argv.pop(1) == "prepared":
    two_forms.LEAST_READ_S = 1e9
from joader.daemon.main import main
main()
"""
JOB = """
import socket, sys, time
sys.path.insert(0, sys.argv[1])
import numpy as np
import joader
from joader.storage import Storage
from row_over_http import Rows

port, rows, way, passes = int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], int(sys.argv[5])

class Stored(Storage):
    columns = {"body": "bytes"}
    def __init__(self):
        self.length = rows
        self.choose(None, ["body"])
    def fetch(self, rows, columns):
        web = self.__dict__.setdefault("web", Rows(port))
        return [[web.body(row) for row in rows.tolist()]]
    def identity(self):
        return "bench", rows

def prepare(body):
    end = time.thread_time() + 0.008
    while time.thread_time() < end: pass
    return np.resize(np.frombuffer(body, np.uint8), 29_184)
prepare.random = False

steps = {"transform": [prepare]} if way == "raw" else {"prepare": [prepare]}
loader = joader.DataLoader(Stored(), batch_size=8, shuffle=True, num_workers=2, key="bench",
                           job="job", collate_fn=len, **steps)
for epoch in range(passes):
    for batch in loader: pass
    print(epoch, loader.stats().prepared, flush=True)
    sys.stdin.readline()
"""


def live(port: int, rows: int, way: str, memory_bytes: int) -> dict[str, float]:
    """Return what a row costs in later passes, by what was read and prepared."""
    here = str(Path(__file__).parent)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["JOADER_RUNTIME"] = folder
        arguments = [f"--socket={folder}/daemon.sock", f"--memory={memory_bytes}", "--workers=2"]
        daemon = subprocess.Popen([sys.executable, "-c", DAEMON, way, *arguments, "--idle=0"])
        job, prepared = None, 0
        try:
            while not Path(folder, "daemon.sock").exists():
                time.sleep(0.05)
            told = [here, str(port), str(rows), way, str(WARM + PASSES)]
            job = subprocess.Popen(
                [sys.executable, "-c", JOB, *told],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for epoch in range(WARM + PASSES):
                if epoch == WARM:
                    ask(port, "/count")
                    begun, before = time.monotonic(), prepared
                assert job.stdout is not None
                assert job.stdin is not None
                prepared = int(job.stdout.readline().split()[1])
                job.stdin.write("on\n")
                job.stdin.flush()
            wall_s, count = time.monotonic() - begun, PASSES * rows
            reads = int(ask(port, "/count")) / count
            made = 1.0 if way == "raw" else (prepared - before) / count
            return {
                "ms": round(1000 * (reads * READ_S + made * PREPARE_S), 2),
                "reads": round(reads, 3),
                "prepared": round(made, 3),
                "rows_per_s": round(count / wall_s, 1),
                "raw_rows": status()["raw"]["rows"],
            }
        finally:
            for one in (job, daemon):
                if one is not None:
                    one.kill()
                    one.wait()


def compared(rows: int) -> list[dict]:
    """Return live figures beside the simulated ones."""
    found = []
    costs = [Costs(READ_S, PREPARE_S, RAW_BYTES, PREPARED_BYTES)] * rows
    with store() as port:
        turn(port, "slow")
        for part in (0.5, 0.9, 1.2, 1.6):
            memory_bytes = int(part * RAW_BYTES * rows)
            for way in ("raw", "prepared", "both"):
                got = live(port, rows, way, memory_bytes)
                simulated = round(1000 * spent_per_row(way, costs, memory_bytes), 2)
                found.append({"live": way, "memory_of_raw": part, "simulated_ms": simulated} | got)
                print(json.dumps(found[-1]), flush=True)
    return found


def datasets(rows: int) -> dict[str, list[Costs]]:
    draw = Random(1)
    sizes = [0.2 + draw.lognormvariate(-0.24, 0.69) for _ in range(rows)]
    return {
        "read 20 ms, prepare 8 ms": [Costs(0.020, 0.008, 110_000, 196_000)] * rows,
        "read 2 ms, prepare 8 ms": [Costs(0.002, 0.008, 110_000, 196_000)] * rows,
        "sizes of photos, read 20 ms": [
            Costs(0.02, 0.004 * size, int(40_000 * size), 196_000) for size in sizes
        ],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--live", type=int, default=0, help="rows of the live runs; 0: none")
    options = parser.parse_args()
    rows = []
    for name, costs in datasets(options.rows).items():
        raw_bytes = sum(one.raw_bytes for one in costs)
        for part in (0.2, 0.5, 0.9, 1.2, 1.6):
            found = {way: spent_per_row(way, costs, int(part * raw_bytes)) for way in WAYS}
            ms = {way: round(1000 * spent_s, 2) for way, spent_s in found.items()}
            rows.append({"dataset": name, "memory_of_raw": part, "ms_per_row": ms})
            print(json.dumps(rows[-1]), flush=True)
    if options.live:
        rows += compared(options.live)
    method = f"simulated: {options.rows} rows, passes 5 to 8 of a job whose order is known; live: "
    method += f"{options.live} rows, passes {WARM + 1} to {WARM + PASSES}"
    report("forms", machine(), method, rows)


if __name__ == "__main__":
    main()
