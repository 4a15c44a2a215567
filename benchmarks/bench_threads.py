"""What do threads in the workers bring, where rows wait for storage before they are decoded?

One job, two workers with 1, 2, 4 and 8 threads each, on photos that arrive 5 ms after they are
asked for (a sleep, as from a network disk) and are then decoded and resized: the question of figure
7 of the locality-aware paper. torch's DataLoader with as many workers is there for comparison. Each
run has a daemon of its own; its start, imports and first rows are not timed.

    python benchmarks/bench_threads.py --threads 1,2,4,8 --rows 1500 --photos FILE
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from harness import machine, report
from photos import Photos

import joader

BATCH = 32
LATENCY_S = 0.005
MEMORY_BYTES = 256 * 2**20


class Remote(Photos):
    """Photos behind a storage that takes its time."""

    def __getitem__(self, row: int) -> tuple[np.ndarray, int]:  # type: ignore[type-arg]
        time.sleep(LATENCY_S)
        return super().__getitem__(row)


def with_joader(threads: int, options: argparse.Namespace) -> float:
    """Return samples a second of one pass with so many threads a worker."""
    folder = tempfile.mkdtemp(prefix="joader-bench-")
    address = f"{folder}/daemon.sock"
    daemon = subprocess.Popen(
        [
            *(sys.executable, "-m", "joader.daemon.main", f"--socket={address}", "--idle=0"),
            *(f"--memory={MEMORY_BYTES}", f"--workers={options.workers}"),
            f"--threads-per-worker={threads}",
        ],
        env={**os.environ, "JOADER_RUNTIME": folder},
    )
    while not Path(address).exists():
        time.sleep(0.02)
    for rows, key in ((128, "warm up"), (options.rows, "photos")):
        data = Remote(options.photos, rows)
        loader = joader.DataLoader(
            data, batch_size=BATCH, shuffle=True, key=key, deterministic=True, address=address
        )
        started = time.perf_counter()
        for _ in loader:
            pass
        seconds = time.perf_counter() - started
        loader.close()
    daemon.terminate()
    daemon.wait()
    shutil.rmtree(folder)
    return options.rows / seconds


def with_torch(options: argparse.Namespace) -> float:
    """Return samples a second of one pass of torch's loader."""
    from torch.utils.data import DataLoader

    data = Remote(options.photos, options.rows)
    data.bodies  # noqa: B018 - read before the workers are forked
    loader = DataLoader(data, batch_size=BATCH, shuffle=True, num_workers=options.workers)
    started = time.perf_counter()
    for _ in loader:
        pass
    return options.rows / (time.perf_counter() - started)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", default="1,2,4,8")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rows", type=int, default=1500)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--photos", default="../shared/data/imagenet-sample.parquet")
    options = parser.parse_args()
    try:
        import PIL  # noqa: F401
        import torch  # noqa: F401
    except ImportError as error:
        print(f"bench_threads needs torch and Pillow beside joader ({error}); left out")
        return
    counts = [int(count) for count in options.threads.split(",")]
    runs: dict[str, list[float]] = {"torch": [], **{str(count): [] for count in counts}}
    for _ in range(options.repeats):  # in turn, so that a slow minute hits all
        runs["torch"].append(with_torch(options))
        for count in counts:
            runs[str(count)].append(with_joader(count, options))
    results: list[dict[str, object]] = []
    for name, rates in runs.items():
        row: dict[str, object] = {
            "threads_per_worker": name if name == "torch" else int(name),
            "per_s": round(statistics.median(rates), 1),
            "over_torch": round(statistics.median(rates) / statistics.median(runs["torch"]), 2),
            "spread": [round(rate, 1) for rate in sorted(rates)],
        }
        results.append(row)
        print(row, flush=True)
    method = f"{options.rows} rows, {options.workers} workers, {1000 * LATENCY_S:g} ms of waiting"
    report("threads", machine(), f"{method} a row, {options.repeats} repeats", results)


if __name__ == "__main__":
    main()
