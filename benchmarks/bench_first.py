"""How soon the first batch comes, and what a whole first epoch takes, start of the daemon included.

Each run is a fresh interpreter that has imported torch (and torchvision, if there is one) and made
its dataset before the clock starts; then: make the loader, first batch, rest of the epoch. joader's
first job has to start its daemon within that time; the *later* job finds it running and reads with
an equal recipe, while the first is still there. torch and joader run in turn.

    python benchmarks/bench_first.py --rows 2000 --workers 0,2,4 --repeats 3 --photos FILE
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

from harness import machine, report
from photos import Photos

BATCH = 64


def job(options: argparse.Namespace) -> None:
    """Be one job; with `later`, stay until standard input ends."""
    import torch
    from torch.utils.data import DataLoader

    if options.cuda:
        torch.zeros(1, device="cuda")
    data = Photos(options.photos, options.rows)
    data.bodies  # noqa: B018
    side = options.side
    if side != "torch":
        from joader import DataLoader  # type: ignore[no-redef]
    workers = {} if options.workers == "absent" else {"num_workers": int(options.workers)}
    print("ready", flush=True)
    sys.stdin.readline()
    start = time.perf_counter()
    loader = DataLoader(data, batch_size=BATCH, shuffle=True, **workers)  # type: ignore[arg-type]
    batches = iter(loader)
    _images, rows = next(batches)
    first_s = time.perf_counter() - start
    ids = rows.tolist()
    if not options.first_only:
        for _, rows in batches:
            ids += rows.tolist()
    told = {"first_s": first_s, "epoch_s": time.perf_counter() - start, "ids": len(set(ids))}
    print(json.dumps(told), flush=True)
    sys.stdin.readline()


class Run:
    """A job in a process of its own, told when to go and when to end."""

    def __init__(self, side: str, workers: str, options: argparse.Namespace, runtime: str) -> None:
        command = [sys.executable, __file__, "--be-job", f"--side={side}", f"--workers={workers}"]
        command += [
            f"--rows={options.rows}",
            *([f"--photos={options.photos}"] * bool(options.photos)),
        ]
        command += ["--cuda"] * options.cuda + ["--first-only"] * options.first_only
        environment = {**os.environ, "JOADER_RUNTIME": runtime, "JOADER_IDLE_S": "1"}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"

    def result(self) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        found: dict[str, Any] = json.loads(self.process.stdout.readline())
        return found

    def end(self) -> None:
        self.process.communicate("end\n")


def measure(workers: str, options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    runtime = tempfile.mkdtemp(prefix="joader-bench-")
    try:
        found = {}
        if workers != "absent":
            run = Run("torch", workers, options, runtime)
            found["torch"] = run.result()
            run.end()
        first, later = (Run("joader", workers, options, runtime) for _ in range(2))
        found["joader"] = first.result()
        found["later"] = later.result()
        first.end()
        later.end()
        time.sleep(2.5)  # the daemon is idle, and ends
    finally:
        shutil.rmtree(runtime, ignore_errors=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--workers", default="2")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--photos")
    parser.add_argument("--cuda", action="store_true", help="the job has used the GPU before")
    parser.add_argument("--first-only", action="store_true")
    parser.add_argument("--be-job", action="store_true")
    parser.add_argument("--side")
    options = parser.parse_args()
    if options.be_job:
        job(options)
        return
    rows: list[dict[str, object]] = []
    for workers in options.workers.split(","):
        runs = [measure(workers, options) for _ in range(options.repeats)]
        for side in runs[0]:
            row: dict[str, object] = {"workers": workers, "side": side}
            for name in ("first_s", "epoch_s"):
                values = sorted(run[side][name] for run in runs)
                row[name] = round(statistics.median(values), 3)
                row[f"{name}_spread"] = [round(values[0], 3), round(values[-1], 3)]
            row["ids"] = runs[0][side]["ids"]
            rows.append(row)
            print(row, flush=True)
    report("first_batch", machine(), (__doc__ or "").split("\n\n")[1], rows)


if __name__ == "__main__":
    main()
