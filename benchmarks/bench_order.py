"""How far is an order from a reshuffle if speeds depend on rows, or on what is in memory?

Streams promise exact reshuffles as long as who draws when does not depend on which rows were drawn.
Real jobs break that a little: a dear row, or one that is not in memory, takes longer. Here two or
three jobs draw batch by batch, and a batch takes as long as its rows say: dear rows (half of all),
or rows that nobody has read lately, take `--factor` times as long. Printed for each number of rows,
for the job that is farthest off: the worst deviation of the dear rows' share of a tenth of a pass,
and of a cell of the 5 x 5 table of a pass against the next, beside what chance alone would give:
the same for orders that are shuffled independently, as many jobs and passes.
"""

import argparse
from heapq import heapify, heapreplace

import numpy as np
from harness import machine, report

from joader.sampling import StreamSampler

CASES = {
    "offset": ((1.0, 1.0), (0.0, 0.3)),
    "half speed": ((2.0, 1.0), (0.0, 0.1)),
    "three speeds": ((1.5, 1.2, 1.0), (0.0, 0.2, 0.6)),
}
PASSES = {40: 4_000, 400: 2_000, 4_000: 400, 40_000: 60}
MEMORY = 0.05


def orders(
    case: str, rows: int, passes: int, felt: str, factor: float, seed: int
) -> list[list[np.ndarray]]:
    """Return the passes of each job."""
    speeds, starts = CASES[case]
    reach = max(1, round(MEMORY * rows))
    sampler = StreamSampler(seed, reach=reach)
    batch = max(1, min(64, rows // 40))
    done: list[list[np.ndarray]] = [[] for _ in speeds]
    reading: list[list[np.ndarray]] = [[] for _ in speeds]
    used = np.full(rows, -(10**9))  # when a row was read last, in deliveries
    delivered = 0
    turns = [(start * rows, job) for job, start in enumerate(starts)]
    heapify(turns)
    everything = np.arange(rows)
    while min(map(len, done)) < passes:
        now, job = turns[0]
        if not reading[job]:
            sampler.add(job, everything)
        drawn = sampler.draw({job: min(batch, sampler.remaining(job))})[job]
        slow = drawn * 2 >= rows if felt == "rows" else delivered - used[drawn] > reach
        if felt == "nothing":
            slow = np.zeros(drawn.size, np.bool_)
        delivered += drawn.size
        used[drawn] = delivered
        reading[job].append(drawn)
        if not sampler.remaining(job):
            done[job].append(np.concatenate(reading[job]))
            reading[job] = []
        heapreplace(turns, (now + (drawn.size + (factor - 1) * slow.sum()) / speeds[job], job))
    return done


def deviations(passes: list[np.ndarray], rows: int) -> tuple[float, float]:
    """Return the worst deviation of the dear rows in a tenth, and of a cell of the table."""
    tenth, part = np.arange(rows) * 10 // rows, np.arange(rows) * 5 // rows
    dear, table = np.zeros(10), np.zeros((5, 5))
    place = np.empty(rows, np.int64)
    for number, order in enumerate(passes):
        dear += np.bincount(tenth, order * 2 >= rows, 10)
        if number:
            np.add.at(table, (place[order], part), 1)
        place[order] = part
    return (
        float(np.abs(dear / dear.mean() - 1).max()),
        float(np.abs(table / table.mean() - 1).max()),
    )


def worst(passes: list[list[np.ndarray]], rows: int) -> tuple[float, float]:
    """Return both deviations for the job that is farthest off."""
    tenth, cell = zip(*(deviations(each, rows) for each in passes), strict=True)
    return max(tenth), max(cell)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--factor", type=float, default=3.0)
    parser.add_argument("--sizes", default="40,400,4000,40000")
    parser.add_argument("--part", type=float, default=1.0, help="part of the passes")
    options = parser.parse_args()
    results: list[dict[str, object]] = []
    for rows in map(int, options.sizes.split(",")):
        count = max(2, round(PASSES[rows] * options.part))
        rng = np.random.default_rng(0)
        for case, (speeds, _) in CASES.items():
            shuffled = [[rng.permutation(rows) for _ in range(count)] for _ in speeds]
            chance = worst(shuffled, rows)
            for felt in ("nothing", "rows", "hits"):
                found = worst(orders(case, rows, count, felt, options.factor, 1), rows)
                results.append(
                    {
                        "case": case,
                        "rows": rows,
                        "passes": count,
                        "speed depends on": felt,
                        "dear rows in a tenth": round(found[0], 4),
                        "by chance, tenth": round(chance[0], 4),
                        "cell of 5 x 5": round(found[1], 4),
                        "by chance, cell": round(chance[1], 4),
                    }
                )
                print(
                    f"{rows:>6} rows, {case:12}, speed by {felt:7}: dear rows in a tenth off by "
                    f"{found[0]:6.2%} (chance {chance[0]:.2%}), a cell by {found[1]:6.2%} "
                    f"(chance {chance[1]:.2%})",
                    flush=True,
                )
    report("order", machine(), f"factor {options.factor}, part {options.part}", results)


if __name__ == "__main__":
    main()
