"""How many samples have to be prepared? Every job in every round, mean of 5 seeds.

The numbers the sampling and cache rooms were asked for, at the paper's sizes, and the table of
docs/decisions/0003.
"""

import statistics
from math import sqrt

import numpy as np
from harness import machine, report

from joader.sampling import DependentSampler
from papers.figure import (
    chained,
    folds,
    mean_misses,
    nested,
    overlapping,
    random_sets,
    union,
)
from papers.runs import Run, Sets, prepared

SEEDS = range(5)
SIZE = 10_000


def mean(make: Sets, sampler: str, slots: int, policy: str = "refcount") -> float:
    return mean_misses(make, SIZE, sampler, policy, slots, SEEDS)


def row(case: str, found: float, low: float | None, high: float) -> dict[str, object]:
    met = (low is None or found >= low) and found <= high
    result: dict[str, object] = {"case": case, "found": found, "at least": low, "at most": high}
    print(f"{case:58} {found:>10,.1f}  allowed {low or 0:,.1f}-{high:,.1f}  {met}", flush=True)
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


def six_jobs() -> list[dict[str, object]]:
    """Each set has half in common with the next; and sets of half of all rows at random."""
    rows = []
    for name, make, paper, common, ours in (
        ("six sets, each half of the next", chained(6), 55_100, 48_800, 35_000),
        ("six random sets of 10,000 of 20,000", random_sets(6, 0.5), 50_500, 38_000, 20_800),
    ):
        whole = statistics.fmean(union(make(SIZE, seed)) for seed in SEEDS)
        for who, sampler, most in (
            ("paper's rule", "paper", paper),
            ("common order", "common", common),
            ("joader", "dependent", ours),
        ):
            rows.append(row(f"{name}, {who}", mean(make, sampler, 1), whole, most))
    return rows


def policies() -> list[dict[str, object]]:
    """RefCnt at or below every other policy, at every size; three seeds, as it takes so long."""
    rows = []
    names = ("refcount", "expected", "lru", "fifo", "random")
    sizes = (1, 100, 500, 2000, 4000, 8000, 13_333)
    seeds = SEEDS[:3]
    for name, make in (("random4", random_sets(4)), ("sizes4", nested(100, 75, 50, 25))):
        for sampler in ("dependent", "paper"):
            runs = {
                (policy, slots): [Run(make, SIZE, sampler, policy, slots, seed) for seed in seeds]
                for policy in names
                for slots in sizes
            }
            found = prepared(run for group in runs.values() for run in group)
            means = {cell: statistics.fmean(map(found.__getitem__, runs[cell])) for cell in runs}
            for policy in ("refcount", "expected"):
                worst = max(
                    means[policy, slots]
                    - min(means[other, slots] for other in ("lru", "fifo", "random"))
                    for slots in sizes
                )
                case = f"{name}, {sampler}: {policy} above the best other, worst size"
                rows.append(row(case, worst, None, 0))
    return rows


BYSTANDER_ROUNDS = SIZE // 10  # the bystander's whole pass
BYSTANDER_SEEDS = range(40)


def bystander() -> list[dict[str, object]]:
    """The match rate of a pair, alone and with a third job on other rows beside it.

    Whatever came before, a round matches with probability p = rows that both need / rows that the
    outer needs. So matches less the sum of p is a martingale with the variance sum of p (1 - p);
    4 standard errors are exceeded once in 16,000 runs.
    """
    rows = []
    for beside in (False, True):
        matches, expected, variance, rounds = 0, 0.0, 0.0, 0
        for seed in BYSTANDER_SEEDS:
            sampler = DependentSampler(seed)
            sampler.add("inner", np.arange(SIZE // 2))
            sampler.add("outer", np.arange(SIZE))
            counts = {"inner": BYSTANDER_ROUNDS, "outer": BYSTANDER_ROUNDS}
            if beside:
                sampler.add("bystander", np.arange(SIZE, SIZE + SIZE // 10))
                counts["bystander"] = BYSTANDER_ROUNDS
            drawn = sampler.draw(counts)
            p = match_probabilities(drawn["inner"], drawn["outer"])
            matches += int(np.count_nonzero(drawn["inner"] == drawn["outer"]))
            expected += float(p.sum())
            variance += float((p * (1 - p)).sum())
            rounds += BYSTANDER_ROUNDS
        band = 4 * sqrt(variance) / rounds * 100
        found, middle = 100 * matches / rounds, 100 * expected / rounds
        who = "with a bystander" if beside else "alone"
        case = f"matches in % of a pair, {who}, {rounds:,} rounds"
        rows.append(row(case, found, middle - band, middle + band))
    return rows


def match_probabilities(inner: np.ndarray, outer: np.ndarray) -> np.ndarray:
    """Return for every round, from the draws before it, how likely the pair was to match."""
    found = np.empty(inner.size)
    gone: set[int] = set()  # rows of the inner set that one of the two has read
    for played, (first, second) in enumerate(zip(inner.tolist(), outer.tolist(), strict=True)):
        found[played] = (SIZE // 2 - len(gone)) / (SIZE - played)
        gone.add(first)
        if second < SIZE // 2:
            gone.add(second)
    return found


def main() -> None:
    results = figure_4() + four_jobs_and_folds() + six_jobs() + policies() + bystander()
    report("misses", machine(), "means of 5 seeds, one pass, all jobs in step", results)


if __name__ == "__main__":
    main()
