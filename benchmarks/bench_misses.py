"""How many samples have to be prepared? Every job in every round, mean of 5 seeds.

The numbers the sampling and cache rooms were asked for, at the paper's sizes.
"""

import statistics

import numpy as np
from harness import machine, report

from joader.sampling import DependentSampler
from joader.simulator.figures import (
    Sets,
    folds,
    misses,
    nested,
    overlapping,
    random_sets,
    union,
)

SEEDS = range(5)
SIZE = 10_000


def mean(make: Sets, sampler: str, slots: int, policy: str = "refcount") -> float:
    return statistics.fmean(
        misses(make(SIZE, seed), sampler, [policy], [slots], seed)[policy, slots] for seed in SEEDS
    )


def row(case: str, found: float, low: float | None, high: float) -> dict[str, object]:
    met = (low is None or found >= low) and found <= high
    result: dict[str, object] = {"case": case, "found": found, "at least": low, "at most": high}
    print(f"{case:58} {found:>10,.1f}  allowed {low or 0:,.0f}-{high:,.0f}  {met}", flush=True)
    return {**result, "met": met}


def figure_4() -> list[dict[str, object]]:
    rows = []
    for percent in (100, 75, 50, 25):
        whole = union(overlapping(percent)(SIZE, 0))
        for slots in (1, 100, 3000, 10_000):
            found = mean(overlapping(percent), "dependent", slots)
            rows.append(row(f"fig4a {percent} %, {slots} slots", found, whole, whole))
    for percent, expected in ((75, 13_466), (50, 13_466), (25, 12_158)):
        found = mean(nested(100, percent), "dependent", 1)
        rows.append(row(f"fig4b {percent} %", found, 0.99 * expected, 1.01 * expected))
    return rows


def four_jobs_and_folds() -> list[dict[str, object]]:
    random4, sizes4 = random_sets(4), nested(100, 75, 50, 25)
    rows = [
        row("random4, paper's rule", mean(random4, "paper", 1), None, 22_800),
        row("random4, joader", mean(random4, "dependent", 1), None, 20_000),
        row("random4, common order", mean(random4, "common", 1), None, 23_000),
        row("sizes4, paper's rule", mean(sizes4, "paper", 1), None, 18_800),
        row("sizes4, joader", mean(sizes4, "dependent", 1), None, 18_100),
        row("sizes4, common order", mean(sizes4, "common", 1), None, 18_100),
        row("five folds, paper's rule", mean(folds(5), "paper", 1), None, 28_100),
        row("five folds, joader", mean(folds(5), "dependent", 1), None, 20_500),
        row("five folds, common order", mean(folds(5), "common", 1), None, 20_500),
    ]
    for name, make in (("random4", random4), ("sizes4", sizes4)):
        whole = statistics.fmean(union(make(SIZE, seed)) for seed in SEEDS)
        for sampler in ("dependent", "paper"):
            found = mean(make, sampler, 4000)
            rows.append(row(f"{name}, {sampler}, RefCnt at 4,000 slots", found, None, whole))
    return rows


def policies() -> list[dict[str, object]]:
    """RefCnt at or below every other policy, at every size."""
    rows = []
    slots = [1, 100, 500, 1000, 2000, 4000, 6000, 8000, 10_000, 13_333]
    for name, make in (("random4", random_sets(4)), ("sizes4", nested(100, 75, 50, 25))):
        for sampler in ("dependent", "paper"):
            names = ["refcount", "expected", "lru", "fifo", "random"]
            runs = [misses(make(SIZE, seed), sampler, names, slots, seed) for seed in SEEDS]
            for policy in ("refcount", "expected"):
                worst = max(
                    statistics.fmean(run[policy, size] for run in runs)
                    - min(
                        statistics.fmean(run[other, size] for run in runs)
                        for other in ("lru", "fifo", "random")
                    )
                    for size in slots
                )
                case = f"{name}, {sampler}: {policy} above the best other, worst size"
                rows.append(row(case, worst, None, 0))
    return rows


def bystander() -> list[dict[str, object]]:
    """The match rate of a pair, alone and with a third job on other rows beside it."""
    rows = []
    for beside in (False, True):
        rates = []
        for seed in SEEDS:
            sampler = DependentSampler(seed)
            sampler.add("inner", np.arange(SIZE // 2))
            sampler.add("outer", np.arange(SIZE))
            counts = {"inner": 100, "outer": 100}
            if beside:
                sampler.add("bystander", np.arange(SIZE, SIZE + SIZE // 10))
                counts["bystander"] = 100
            drawn = sampler.draw(counts)
            rates.append(float(np.mean(drawn["inner"] == drawn["outer"])) * 100)
        who = "with a bystander" if beside else "alone"
        rows.append(row(f"matches in % of a pair, {who}", statistics.fmean(rates), 43, 57))
    return rows


def main() -> None:
    results = figure_4() + four_jobs_and_folds() + policies() + bystander()
    report("misses", machine(), "means of 5 seeds, one pass, all jobs in step", results)


if __name__ == "__main__":
    main()
