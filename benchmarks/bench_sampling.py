"""How fast are joint draws, and does the size of the dataset matter?

Rows are counted over all jobs. Cases: equal sets in step; six jobs that started at different times
(out of step); six jobs, each overlapping its neighbours by half; six jobs that overtake each other
every tick. Each case is set up outside the timed part and then drawn in ticks; the timed part
covers a tenth of a pass or 200,000 rows a job, whichever is less, and at least 3 ticks.
"""

import argparse
import statistics
import time
from collections.abc import Iterator

import numpy as np
from harness import machine, report

from joader.sampling import DependentSampler

JOBS = 6
TICK = 256
Counts = dict[int, int]


def equal(rows: int, seed: int) -> tuple[DependentSampler, Iterator[Counts]]:
    sampler = DependentSampler(seed)
    for job in range(JOBS):
        sampler.add(job, np.arange(rows))
    return sampler, iter(lambda: dict.fromkeys(range(JOBS), TICK), None)


def out_of_step(rows: int, seed: int) -> tuple[DependentSampler, Iterator[Counts]]:
    """Six jobs on the same rows that have read 0, 10, …, 50 % of them at random."""
    sampler = DependentSampler(seed)
    rng = np.random.default_rng(seed)
    for job in range(JOBS):
        sampler.add(job, rng.permutation(rows)[: rows - job * rows // 10])
    return sampler, iter(lambda: dict.fromkeys(range(JOBS), TICK), None)


def half_overlap(rows: int, seed: int) -> tuple[DependentSampler, Iterator[Counts]]:
    sampler = DependentSampler(seed)
    for job in range(JOBS):
        sampler.add(job, np.arange(rows) + job * (rows // 2))
    return sampler, iter(lambda: dict.fromkeys(range(JOBS), TICK), None)


def overtaking(rows: int, seed: int) -> tuple[DependentSampler, Iterator[Counts]]:
    """Out of step, and the order of sizes changes every tick: three jobs take twice as much."""
    sampler, _ = out_of_step(rows, seed)

    def ticks() -> Iterator[Counts]:
        slow = 0
        while True:
            yield {job: TICK if (job + slow) % 2 else TICK // 2 for job in range(JOBS)}
            slow += 1

    return sampler, ticks()


CASES = {
    "equal sets, in step": equal,
    "out of step": out_of_step,
    "half-overlapping": half_overlap,
    "overtaking each other": overtaking,
}


def rows_per_second(case: str, rows: int, seed: int) -> float:
    sampler, ticks = CASES[case](rows, seed)
    sampler.draw(dict.fromkeys(range(JOBS), 1))  # the first draw sorts the rows into cells
    limit = max(3 * TICK, min(200_000, rows // 10)) * JOBS
    drawn = 0
    start = time.perf_counter()
    for counts in ticks:
        drawn += sum(part.size for part in sampler.draw(counts).values())
        if drawn >= limit:
            return drawn / (time.perf_counter() - start)
    raise AssertionError


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--sizes", default="10000,100000,1280000,10000000")
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    results = []
    for case in CASES:
        for rows in sizes:
            rates = [rows_per_second(case, rows, seed) for seed in range(options.repeats)]
            results.append(
                {
                    "case": case,
                    "rows": rows,
                    "rows_per_s": round(statistics.median(rates)),
                    "low": round(min(rates)),
                    "high": round(max(rates)),
                    "needed": 5_000_000 if case.startswith("equal") else 300_000,
                }
            )
            print(
                f"{case:24} {rows:>11,} rows  {statistics.median(rates):>12,.0f} rows/s", flush=True
            )
    report("sampling", machine(), f"{options.repeats} repeats, ticks of {TICK}", results)


if __name__ == "__main__":
    main()
