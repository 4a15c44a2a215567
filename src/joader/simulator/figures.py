"""The figures of the JOADER appendix, from the samplers and the cache that run in production.

A figure is a function that yields rows: one case at one cache size, with what the paper reports
(None where it gives no number), what joader does, and a baseline. Counts are means over seeds.
`quick` shrinks sets and seeds, not the method.
"""

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray

from joader.sampling import DependentSampler, IndependentSampler
from joader.simulator.simulate import Event, Job, replay, trace

Rows = NDArray[np.int64]
Sets = Callable[[int, int], list[Rows]]  # (size of the largest set, seed) -> the jobs' rows

FULL = 10_000
QUICK = 2_000
SHARES = (0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.75, 1.0)
QUICK_SHARES = (0.0, 0.05, 0.2, 0.4, 0.6, 1.0)


@dataclass(frozen=True)
class Row:
    """One case at one x: the paper's figure, ours, the baseline's."""

    case: str
    x: float
    paper: float | None
    ours: float
    baseline: float | None
    unit: str


Tick = Callable[[], None]
RowMaker = Callable[[int, bool, Tick], Iterator[Row]]  # (seed, quick, called after every step)


@dataclass(frozen=True)
class Figure:
    """A figure that can be rerun; `steps(quick)` is how often `rows` will tick."""

    name: str
    source: str
    title: str
    x_label: str
    y_label: str
    ours: str
    baseline: str
    rows: RowMaker
    steps: Callable[[bool], int]


def seeds(seed: int, quick: bool) -> range:
    """Return the seeds whose mean is taken."""
    return range(seed, seed + (1 if quick else 5))


def sizes(largest: int, quick: bool) -> list[int]:
    """Return the cache sizes, from one slot to the largest set."""
    return [max(1, round(share * largest)) for share in (QUICK_SHARES if quick else SHARES)]


def misses(
    sets: Sequence[Rows],
    sampler: str,
    policies: Sequence[str],
    slots: Sequence[int],
    seed: int,
    tick: Tick = lambda: None,
) -> dict[tuple[str, int], int]:
    """Return by policy and cache size what one pass of all jobs, in step, has to prepare."""
    jobs = [Job(rows) for rows in sets]
    events: list[Event] = list(trace(jobs, sampler, seed))
    found = {}
    for policy in policies:
        for size in slots:
            found[policy, size] = replay(jobs, events, policy, size, seed).prepared
            tick()
    return found


def union(sets: Sequence[Rows]) -> int:
    """Return how many rows there are in all: fewer cannot be prepared."""
    return int(np.unique(np.concatenate(sets)).size)


def overlapping(percent: int) -> Sets:
    """Make two equal sets that have this much in common."""
    return lambda size, seed: [np.arange(size), np.arange(size) + size * (100 - percent) // 100]


def nested(*percents: int) -> Sets:
    """Make sets of these sizes, each inside all larger ones."""
    return lambda size, seed: [np.arange(size * percent // 100) for percent in percents]


def random_sets(count: int) -> Sets:
    """Make sets of `size` out of 4/3 of that, at random."""

    def make(size: int, seed: int) -> list[Rows]:
        rng = np.random.default_rng([seed, count])
        return [rng.permutation(size * 13_333 // 10_000)[:size] for _ in range(count)]

    return make


def folds(count: int) -> Sets:
    """Make the training sets of a k-fold: each leaves out another part."""
    return lambda size, seed: [np.flatnonzero(np.arange(size) % count != k) for k in range(count)]


def expected_misses_of_nested_pair(larger: int, smaller: int) -> float:
    """Return the mean at one slot: a + b - shared, shared = b - (a - b) ln(a / (a - b))."""
    gap = larger - smaller
    return float(larger + (gap * log(larger / gap) if gap else 0))


def compare_samplers(
    cases: Mapping[str, tuple[Sets, str]],
    paper: Callable[[str, int, list[Rows]], float | None],
) -> RowMaker:
    """Make a figure in which only the sampler differs; a case is sets and our sampler."""

    def rows(seed: int, quick: bool, tick: Tick) -> Iterator[Row]:
        largest = QUICK if quick else FULL
        slots = sizes(largest, quick)
        for case, (make, sampler) in cases.items():
            ours, alone = [], []
            for each in seeds(seed, quick):
                sets = make(largest, each)
                ours.append(misses(sets, sampler, ["refcount"], slots, each, tick))
                alone.append(misses(sets, "independent", ["refcount"], slots, each, tick))
            for size in slots:
                at = ("refcount", size)
                yield Row(
                    case,
                    size,
                    paper(case, size, make(largest, seed)),
                    statistics.fmean(found[at] for found in ours),
                    statistics.fmean(found[at] for found in alone),
                    "samples prepared",
                )

    return rows


def compare_policies(make: Sets) -> RowMaker:
    """Make a figure in which only the policy differs, under the paper's rule."""
    others = {"LRU": "lru", "FIFO": "fifo", "random replacement": "random"}

    def rows(seed: int, quick: bool, tick: Tick) -> Iterator[Row]:
        largest = QUICK if quick else FULL
        slots = sizes(largest * 4 // 3, quick)
        policies = ["refcount", *others.values()]
        found = [
            misses(make(largest, each), "paper", policies, slots, each, tick)
            for each in seeds(seed, quick)
        ]
        everything = union(make(largest, seed))
        for case, policy in others.items():
            for size in slots:
                yield Row(
                    case,
                    size,
                    # "RefCnt can get the best performance with only caching the 60 % dataset"
                    everything if size >= 0.6 * everything else None,
                    statistics.fmean(run["refcount", size] for run in found),
                    statistics.fmean(run[policy, size] for run in found),
                    "samples prepared",
                )

    return rows


def _insert(seed: int, quick: bool, tick: Tick) -> Iterator[Row]:
    count, low, high = (16, 100_000, 200_000) if quick else (128, 1_000_000, 2_000_000)
    rng = np.random.default_rng(seed)
    dependent, alone = DependentSampler(seed), IndependentSampler(seed)
    joined, shuffled = [], []
    for job in range(count):
        rows = rng.permutation(high)[: int(rng.integers(low, high + 1))]
        started = time.perf_counter()
        dependent.add(job, rows)
        joined.append(time.perf_counter() - started)
        started = time.perf_counter()
        alone.add(job, rows)
        shuffled.append(time.perf_counter() - started)
        alone.remove(job)
        tick()
    started = time.perf_counter()
    dependent.draw(dict.fromkeys(range(count), 1))
    first = (time.perf_counter() - started) / count
    tick()
    paper = None if quick else 0.57
    yield Row(
        "join", count, paper, statistics.fmean(joined), statistics.fmean(shuffled), "s a dataset"
    )
    yield Row(
        "join and first draw", count, paper, statistics.fmean(joined) + first, None, "s a dataset"
    )


def _fig4a_paper(case: str, size: int, sets: list[Rows]) -> float | None:
    return float(union(sets))


def _fig4b_paper(case: str, size: int, sets: list[Rows]) -> float | None:
    if size == 1:
        return expected_misses_of_nested_pair(sets[0].size, sets[1].size)
    # "The cache held 30 % dataset could get the best performance for DSA"
    return float(sets[0].size) if size >= 0.3 * sets[0].size else None


def _four_paper(one_slot: float) -> Callable[[str, int, list[Rows]], float | None]:
    def paper(case: str, size: int, sets: list[Rows]) -> float | None:
        return one_slot * sets[0].size / FULL if size == 1 and case == "paper's rule" else None

    return paper


FOUR_RANDOM: Mapping[str, tuple[Sets, str]] = {
    "joader": (random_sets(4), "dependent"),
    "paper's rule": (random_sets(4), "paper"),
}
FOUR_SIZES: Mapping[str, tuple[Sets, str]] = {
    "joader": (nested(100, 75, 50, 25), "dependent"),
    "paper's rule": (nested(100, 75, 50, 25), "paper"),
}
APPENDIX = "JOADER appendix A.2"
SLOTS, PREPARED = "cache size (samples)", "samples prepared"


def _steps(curves: int) -> Callable[[bool], int]:
    return lambda quick: curves * len(sizes(FULL, quick)) * len(seeds(0, quick))


FIGURES = {
    figure.name: figure
    for figure in (
        Figure(
            "joader-fig4a",
            f"{APPENDIX}, figure 4a",
            "Two jobs on sets of equal size",
            SLOTS,
            PREPARED,
            "joader",
            "every job shuffles alone",
            compare_samplers(
                {f"{p} % common": (overlapping(p), "dependent") for p in (100, 75, 50, 25)},
                _fig4a_paper,
            ),
            _steps(4 * 2),
        ),
        Figure(
            "joader-fig4b",
            f"{APPENDIX}, figure 4b",
            "Two jobs, one set inside the other",
            SLOTS,
            PREPARED,
            "joader",
            "every job shuffles alone",
            compare_samplers(
                {f"second is {p} %": (nested(100, p), "dependent") for p in (100, 75, 50, 25)},
                _fig4b_paper,
            ),
            _steps(4 * 2),
        ),
        Figure(
            "joader-random4",
            f"{APPENDIX}, four random sets (text to figure 6a)",
            "Four jobs, each on 3/4 of all rows at random",
            SLOTS,
            PREPARED,
            "dependent sampling",
            "every job shuffles alone",
            compare_samplers(FOUR_RANDOM, _four_paper(20_000)),
            _steps(2 * 2),
        ),
        Figure(
            "joader-sizes4",
            f"{APPENDIX}, four sizes (text to figure 6b)",
            "Four jobs on 100, 75, 50 and 25 % of the rows",
            SLOTS,
            PREPARED,
            "dependent sampling",
            "every job shuffles alone",
            compare_samplers(FOUR_SIZES, _four_paper(16_000)),
            _steps(2 * 2),
        ),
        Figure(
            "joader-fig5a",
            f"{APPENDIX}, figure 5a",
            "Four random sets under different eviction policies",
            SLOTS,
            PREPARED,
            "RefCnt",
            "other policies",
            compare_policies(random_sets(4)),
            _steps(4),
        ),
        Figure(
            "joader-fig5b",
            f"{APPENDIX}, figure 5b",
            "Four sizes under different eviction policies",
            SLOTS,
            PREPARED,
            "RefCnt",
            "other policies",
            compare_policies(nested(100, 75, 50, 25)),
            _steps(4),
        ),
        Figure(
            "joader-insert",
            "JOADER section 6, insertion of 128 datasets",
            "Time for a dataset of 1-2 million rows to join",
            "datasets",
            "seconds a dataset",
            "joader",
            "shuffling alone",
            _insert,
            lambda quick: 17 if quick else 129,
        ),
    )
}
