"""How soon does a job get its first batch, and how much memory does the daemon itself take?

First batch: a job in a warm process joins a running daemon and bears its workers; from the
construction of the loader to its first batch. Memory: the daemon's private memory (the arena, which
is the budget, is shared and not counted) with 8 jobs on 1.28 million rows, half of them apart.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from harness import machine, report

import joader


class Rows:
    def __init__(self, length: int) -> None:
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, row: int) -> np.ndarray:  # type: ignore[type-arg]
        return np.full(1000, row % 251, np.uint8)


def first_batch_s(length: int) -> float:
    started = time.perf_counter()
    loader = joader.DataLoader(Rows(length), batch_size=32, shuffle=True, key=f"rows {length}")
    next(iter(loader))
    seconds = time.perf_counter() - started
    loader.close()
    return seconds


def private_bytes(pid: int) -> int:
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    fields = {line.split(":")[0]: line.split() for line in text.splitlines() if ":" in line}
    return 1024 * int(fields["Private_Dirty"][1])


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="joader-bench-") as folder:
        os.environ["JOADER_RUNTIME"] = folder
        daemon = subprocess.Popen(
            [
                *(sys.executable, "-m", "joader.daemon.main", f"--socket={folder}/daemon.sock"),
                *("--memory=64MiB", "--workers=2", "--idle=0"),
            ]
        )
        while not Path(folder, "daemon.sock").exists():
            time.sleep(0.02)
        first_batch_s(100)  # imports
        results: list[dict[str, object]] = []
        for length in (1_000, 50_000, 1_280_000):
            times = [first_batch_s(length) for _ in range(5)]
            row = {
                "case": f"first batch, {length} rows",
                "s": round(statistics.median(times), 4),
                "worst": round(max(times), 4),
                "needed": 0.3 if length <= 50_000 else None,
            }
            results.append(row)
            print(row, flush=True)
        before = private_bytes(daemon.pid)
        loaders = []
        for job in range(8):
            loader = joader.DataLoader(
                Rows(1_280_000), batch_size=32, shuffle=True, key="large", deterministic=True
            )
            iterator = iter(loader)
            for _ in range(1 + 20 * (job % 4)):
                next(iterator)
            loaders.append((loader, iterator))
        for _ in range(20):
            for _, iterator in loaders:
                next(iterator)
        after = private_bytes(daemon.pid)
        row = {
            "case": "daemon with 8 jobs on 1.28 M rows",
            "mb": round(after / 1e6, 1),
            "idle_mb": round(before / 1e6, 1),
            "needed": 200,
        }
        results.append(row)
        print(row, flush=True)
        for loader, _ in loaders:
            loader.close()
        daemon.terminate()
        daemon.wait()
    report("daemon_size", machine(), "medians of 5; private dirty memory", results)


if __name__ == "__main__":
    main()
