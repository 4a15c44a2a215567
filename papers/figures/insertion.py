"""How long a dataset takes to join a sampler that already serves many others."""

import statistics
import time
from collections.abc import Iterator

import numpy as np

from joader.sampling import DependentSampler, IndependentSampler
from papers.figure import Effort, Row
from papers.runs import Tick

PAPER_SECONDS = 0.57  # section 6: "The average cost of inserting each dataset"


def datasets(effort: Effort) -> tuple[int, int, int]:
    """Return how many datasets join, and their least and largest size: the paper's at 10,000."""
    return effort.size * 128 // 10_000, effort.size * 100, effort.size * 200


def insertion(seed: int, effort: Effort, tick: Tick) -> Iterator[Row]:
    """Let random datasets join one after the other; the baseline shuffles each alone."""
    count, low, high = datasets(effort)
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
    join, unit = statistics.fmean(joined), "s per dataset"
    paper = PAPER_SECONDS if count == 128 else None
    yield Row("join", count, paper, join, statistics.fmean(shuffled), unit)
    yield Row("join and first draw", count, paper, join + first, None, unit)
