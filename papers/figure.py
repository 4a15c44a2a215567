"""How a figure is computed: sets of rows, what they cost, and the rows of its table.

A figure is a function that yields `Row`s: one case at one cache size. Counts are means over seeds.
An `Effort` says how large the sets are and how many seeds there are; the method stays the same.
Not here: which figures there are, and what the papers say about them (appendix.py).
"""

import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from typing import Literal

import numpy as np

from papers.runs import Rows, Run, Sets, Tick, prepared


@dataclass(frozen=True)
class Effort:
    """How much work to put in: rows of the largest set, seeds, cache sizes as shares."""

    size: int
    seeds: int
    shares: tuple[float, ...]

    def seeds_from(self, seed: int) -> range:
        """Return the seeds whose mean is taken."""
        return range(seed, seed + self.seeds)

    def slots(self, largest: int) -> list[int]:
        """Return the cache sizes, from one slot to the largest set."""
        return [max(1, round(share * largest)) for share in self.shares]


FULL = Effort(10_000, 5, (0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.75, 1.0))
QUICK = Effort(2_000, 1, (0.0, 0.1, 0.4, 1.0))


@dataclass(frozen=True)
class Row:
    """One case at one x: the paper's value, ours, the baseline's.

    `paper` is what the paper reports or, if the figure says so, what is *expected*: the mean of
    the paper's rule, by formula. It is None if neither is known at this size.
    """

    case: str
    x: float
    paper: float | None
    ours: float
    baseline: float | None
    unit: str


RowMaker = Callable[[int, Effort, Tick], Iterator[Row]]  # (seed, effort, called after every step)
# (case, cache size, the sets of every seed, effort) -> what the paper says
PaperValue = Callable[[str, int, Sequence[list[Rows]], Effort], float | None]


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure that can be rerun.

    `varies` says what a case is: other *sets* (each with a curve of ours and one of the baseline),
    another curve of *ours*, or another *baseline*. `scale` says how large a run is, `steps` how
    often `rows` will tick. A figure with `panels` has one plot for each, named before the colon of
    a case, with its own label of x. `log` names the axes that are logarithmic. `notes` say what was
    fitted to what, for people and programs.
    """

    name: str
    source: str
    title: str
    scale: Callable[[Effort], str]
    case_label: str
    x_label: str
    y_label: str
    paper_label: str = "paper"
    ours: str
    baseline: str
    varies: Literal["sets", "ours", "baseline"]
    rows: RowMaker
    steps: Callable[[Effort], int]
    panels: Mapping[str, str] = field(default_factory=dict)
    log: Literal["", "x", "y", "xy"] = ""
    notes: Callable[[Effort], Sequence[str]] = lambda effort: ()


def mean_misses(
    make: Sets, size: int, sampler: str, policy: str, slots: int, seeds: Iterable[int]
) -> float:
    """Return how many samples have to be prepared, as a mean over the seeds."""
    runs = [Run(make, size, sampler, policy, slots, seed) for seed in seeds]
    return statistics.fmean(prepared(runs).values())


def union(sets: Sequence[Rows]) -> int:
    """Return how many distinct rows there are: fewer cannot be prepared."""
    return int(np.unique(np.concatenate(sets)).size)


def mean_union(sets_by_seed: Sequence[list[Rows]]) -> float:
    """Return the mean over seeds of the union, for comparison with a mean over the same seeds."""
    return statistics.fmean(union(sets) for sets in sets_by_seed)


def overlapping(percent: int) -> Sets:
    """Make two equal sets that have this much in common."""
    return lambda size, seed: [np.arange(size), np.arange(size) + size * (100 - percent) // 100]


def nested(*percents: int) -> Sets:
    """Make sets of these sizes, each inside all larger ones."""
    return lambda size, seed: [np.arange(size * percent // 100) for percent in percents]


def chained(count: int) -> Sets:
    """Make equal sets in a row, each with one half of its rows in common with the next."""
    return lambda size, seed: [np.arange(size) + size // 2 * k for k in range(count)]


def random_sets(count: int, share: float = 0.75) -> Sets:
    """Make sets of `size` at random, each this share of all rows."""

    def make(size: int, seed: int) -> list[Rows]:
        rng = np.random.default_rng([seed, count])
        return [rng.permutation(int(size / share))[:size] for _ in range(count)]

    return make


def folds(count: int) -> Sets:
    """Make the training sets of a k-fold: each leaves out another part."""
    return lambda size, seed: [np.flatnonzero(np.arange(size) % count != k) for k in range(count)]


def expected_misses_of_nested_pair(larger: int, smaller: int) -> float:
    """Return the mean at one slot: a + b - shared, shared = b - (a - b) ln(a / (a - b))."""
    gap = larger - smaller
    return float(larger + (gap * log(larger / gap) if gap else 0))


def compare_samplers(cases: Mapping[str, tuple[Sets, str]], paper: PaperValue) -> RowMaker:
    """Make a figure in which only the sampler differs; a case is sets and our sampler."""

    def rows(seed: int, effort: Effort, tick: Tick) -> Iterator[Row]:
        slots, seeds = effort.slots(effort.size), effort.seeds_from(seed)

        def runs(make: Sets, sampler: str, size: int) -> list[Run]:
            return [Run(make, effort.size, sampler, "refcount", size, each) for each in seeds]

        found = prepared(
            (
                run
                for make, ours in cases.values()
                for sampler in (ours, "independent")
                for size in slots
                for run in runs(make, sampler, size)
            ),
            tick,
        )
        for case, (make, sampler) in cases.items():
            sets = [make(effort.size, each) for each in seeds]
            for size in slots:
                yield Row(
                    case=case,
                    x=size,
                    paper=paper(case, size, sets, effort),
                    ours=statistics.fmean(found[run] for run in runs(make, sampler, size)),
                    baseline=statistics.fmean(
                        found[run] for run in runs(make, "independent", size)
                    ),
                    unit="samples prepared",
                )

    return rows


def compare_policies(make: Sets, others: Mapping[str, str], paper: PaperValue) -> RowMaker:
    """Make a figure in which only the policy differs, under the paper's rule; a case is a name."""

    def rows(seed: int, effort: Effort, tick: Tick) -> Iterator[Row]:
        slots, seeds = effort.slots(effort.size * 4 // 3), effort.seeds_from(seed)

        def runs(policy: str, size: int) -> list[Run]:
            return [Run(make, effort.size, "paper", policy, size, each) for each in seeds]

        found = prepared(
            (
                run
                for policy in ("refcount", *others.values())
                for size in slots
                for run in runs(policy, size)
            ),
            tick,
        )
        sets = [make(effort.size, each) for each in seeds]
        for case, policy in others.items():
            for size in slots:
                yield Row(
                    case=case,
                    x=size,
                    paper=paper(case, size, sets, effort),
                    ours=statistics.fmean(found[run] for run in runs("refcount", size)),
                    baseline=statistics.fmean(found[run] for run in runs(policy, size)),
                    unit="samples prepared",
                )

    return rows
