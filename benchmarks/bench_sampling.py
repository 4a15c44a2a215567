"""How fast are joint draws, and does the size of the dataset matter?

Rows are counted over all jobs. Cases: equal sets in step; six jobs that started at different times
(out of step); six jobs, each overlapping its neighbours by half; six jobs that overtake each other
every tick. Each case is set up outside the timed part and then drawn in ticks; the timed part
covers a tenth of a pass or 200,000 rows a job, whichever is less, and at least 3 ticks.

Streams are timed over whole passes, the shuffles of new generations and the starts of passes
included, in ticks of 256 and of 1,024 rows; `add`, which checks the rows it is given, is not. The
last case joins 128 datasets of one to two million rows, as the paper does, and draws once for all.
They are kept in results/sampling_streams.json.
"""

import argparse
import statistics
import time
from collections.abc import Iterator

import numpy as np
from harness import machine, report

from joader.sampling import DependentSampler, StreamSampler

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


def stream_sets(case: str, rows: int) -> list[np.ndarray]:
    everything = np.arange(rows)
    if "folds" in case:
        return [everything[everything % 5 != fold] for fold in range(5)]
    return [everything] * (2 if "two" in case else JOBS)


STREAMS = {
    "streams, two in step": 20_000_000,
    "streams, six in step": 20_000_000,
    "streams, six out of step": 5_000_000,
    "streams, folds out of step": 5_000_000,
}


def stream_rows_per_second(case: str, rows: int, seed: int, tick: int) -> float:
    """Time at least two passes; jobs out of step begin a tenth of a pass after each other."""
    sets = stream_sets(case, rows)
    jobs = range(len(sets))
    sampler = StreamSampler(seed)
    apart = rows // 10 if "out of step" in case else 0
    left = [0 for _ in jobs]
    passes = max(2, 2_000_000 // rows)
    drawn, now, spent = 0, 0, 0.0
    while drawn < passes * sum(part.size for part in sets):
        for job in jobs:
            if not left[job] and now >= job * apart:
                sampler.add(job, sets[job])
                left[job] = sets[job].size
        counts = {job: min(tick, left[job]) for job in jobs if left[job]}
        start = time.perf_counter()
        sampler.draw(counts)
        spent += time.perf_counter() - start
        for job, count in counts.items():
            left[job] -= count
            drawn += count
        now += tick
    return drawn / spent


def seconds_to_join(seed: int) -> tuple[float, float]:
    """Return the seconds per dataset to join 128 of them, and for the first draw."""
    rng = np.random.default_rng(seed)
    sampler, spent = StreamSampler(seed), 0.0
    for job in range(128):
        rows = rng.permutation(2_000_000)[: int(rng.integers(1_000_000, 2_000_001))]
        start = time.perf_counter()
        sampler.add(job, rows)
        spent += time.perf_counter() - start
    start = time.perf_counter()
    sampler.draw(dict.fromkeys(range(128), 1))
    return round(spent / 128, 5), round((time.perf_counter() - start) / 128, 5)


def time_streams(sizes: list[int], repeats: int) -> list[dict[str, object]]:
    results: list[dict[str, object]] = []
    for case, needed in STREAMS.items():
        for rows in sizes:
            for tick in (256, 1024):
                rates = [stream_rows_per_second(case, rows, n, tick) for n in range(repeats)]
                results.append(
                    {
                        "case": f"{case}, ticks of {tick}",
                        "rows": rows,
                        "rows_per_s": round(statistics.median(rates)),
                        "low": round(min(rates)),
                        "high": round(max(rates)),
                        "needed": needed,
                    }
                )
                print(f"{results[-1]['case']:44} {rows:>11,} rows  {max(rates):>12,.0f} rows/s")
    joined, first = seconds_to_join(0)
    print(f"streams, 128 datasets: {joined:.4f} s each to join, {first:.4f} s for the first draw")
    results.append({"case": "streams, 128 datasets join", "s_each": joined, "needed": 0.02})
    results.append({"case": "streams, first draw for 128", "s_each": first})
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", choices=["dependent", "streams"])
    parser.add_argument("--sizes", default="10000,100000,1280000,10000000")
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    results: list[dict[str, object]] = []
    for case in CASES if options.only != "streams" else ():
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
    where, method = machine(), f"{options.repeats} repeats"
    if results:
        report("sampling", where, f"{method}, ticks of {TICK}", results)
    if options.only != "dependent":
        report("sampling_streams", where, method, time_streams(sizes, options.repeats))


if __name__ == "__main__":
    main()
