"""How long does a dataset take to join, and how much memory does a sampler need?

Time: 128 random datasets of 1-2 million rows out of 2 million join one sampler (the paper's
yardstick: 0.57 s each); `add` alone, and with the first draw, which sorts the rows into cells.
Memory: what a sampler holds by tracemalloc, in bytes per row of the distinct datasets, less one
bit per row and job; asked for: at most 16.
"""

import gc
import statistics
import time
import tracemalloc

import numpy as np
from harness import machine, report

from joader.sampling import DependentSampler

ROWS = 1_280_000


def joining() -> list[dict[str, object]]:
    rng = np.random.default_rng(0)
    sampler = DependentSampler(0)
    seconds = []
    for job in range(128):
        rows = rng.permutation(2_000_000)[: int(rng.integers(1_000_000, 2_000_001))]
        start = time.perf_counter()
        sampler.add(job, rows)
        seconds.append(time.perf_counter() - start)
    start = time.perf_counter()
    sampler.draw(dict.fromkeys(range(128), 1))
    first = (time.perf_counter() - start) / 128
    mean = statistics.fmean(seconds)
    return [
        {"case": "join", "s": round(mean, 5), "worst": round(max(seconds), 5), "needed": 0.02},
        {"case": "first draw, a job", "s": round(first, 5), "needed": None},
    ]


def held_bytes(sets: list[np.ndarray], apart: int, distinct: int) -> dict[str, object]:  # type: ignore[type-arg]
    """Measure a sampler whose jobs have fallen out of step by `apart` rows each."""
    gc.collect()
    tracemalloc.start()
    sampler = DependentSampler(0)
    for job, rows in enumerate(sets):
        sampler.add(job, rows)
    waiting = tracemalloc.get_traced_memory()[0]
    for job in range(len(sets)):
        sampler.draw({job: 1 + apart * job})
    sampler.draw(dict.fromkeys(range(len(sets)), 64))
    gc.collect()
    drawn = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    rows = sets[0].size

    def per_row(held: int) -> float:
        return round((held - len(sets) * rows / 8) / (distinct * rows), 2)

    return {"waiting_bytes_per_row": per_row(waiting), "bytes_per_row": per_row(drawn)}


def main() -> None:
    results = joining()
    for jobs in (1, 6, 8, 32):
        for name, apart in (("in step", 0), ("out of step", 10_000)):
            sets = [np.arange(ROWS)] * jobs
            found = held_bytes(sets, apart, 1)
            results.append({"case": f"{jobs} jobs on one dataset, {name}", **found, "needed": 16})
    rng = np.random.default_rng(1)
    sets = [rng.permutation(2 * ROWS)[:ROWS] for _ in range(8)]
    found = held_bytes(sets, 10_000, 8)
    results.append({"case": "8 distinct random datasets", **found, "needed": 16})
    for row in results:
        print(row, flush=True)
    report("join", machine(), "means over 128 datasets; tracemalloc at rest", results)


if __name__ == "__main__":
    main()
