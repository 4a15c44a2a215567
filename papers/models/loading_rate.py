"""A-Dloader's model of the loading rate (formula 7): rows per second of so many workers.

    F_λ(d) = d / (1/R + 1/U)          (times 1/b: in batches)

In three stages (Figure 5): *free*, where a worker is as fast as alone; *contended*, where each
further one slows the others; *saturated*, where it adds next to nothing. R and U are constant in
the first, and 1/R and 1/U straight lines in d in the others ("we use regression models to learn
values of R⁻¹ and U⁻¹ instead of using constant values"). Both are timed: 1/R is how long a row
waits for a disk or a network, 1/U the rest of its time.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from joader.errors import BadArgument
from papers.models.runs import LoadingRun

STAGES = ("free", "contended", "saturated")
_LEAST_S = 1e-9


@dataclass(frozen=True)
class Stage:
    """One stage: up to how many workers, and lines for 1/R and 1/U."""

    name: str
    most_workers: int
    read: tuple[float, float]  # 1/R = first + second · d
    prepare: tuple[float, float]  # 1/U

    def row_s(self, workers: float) -> float:
        """Return how long a worker takes for a row beside so many."""
        read = max(0.0, self.read[0] + self.read[1] * workers)
        return max(_LEAST_S, read + max(0.0, self.prepare[0] + self.prepare[1] * workers))


@dataclass(frozen=True)
class LoadingRate:
    """The stages of one recipe on one machine."""

    stages: tuple[Stage, ...]

    def rows_per_s(self, workers: float) -> float:
        """Return what so many workers prepare together."""
        for stage in self.stages:
            if workers <= stage.most_workers:
                return workers / stage.row_s(workers)
        return workers / self.stages[-1].row_s(workers)

    def workers_for(self, rows_per_s: float, most: int) -> float:
        """Return how many workers, not whole, load so much (d′); `most` if they never do."""
        before = 0.0
        for whole in range(1, most + 1):
            rate = self.rows_per_s(whole)
            if rate >= rows_per_s:
                return whole - 1 + (rows_per_s - before) / (rate - before)
            before = max(before, rate)
        return float(most)


def fit(runs: Sequence[LoadingRun]) -> LoadingRate:
    """Fit the three stages, where they begin included; BadArgument if runs are too few."""
    counts = sorted({run.workers for run in runs})
    if len(counts) < 2:
        raise BadArgument("a loading rate needs runs with two numbers of workers at least")
    best: tuple[float, LoadingRate] | None = None
    for free, contended in _ends(counts):
        model = LoadingRate(_stages(runs, (free, contended, counts[-1])))
        error = sum(abs(model.rows_per_s(r.workers) / r.rows_per_s - 1.0) for r in runs)
        if best is None or error < best[0] * 0.999:  # the first, simplest, of equal ones
            best = error, model
    assert best is not None
    return best[1]


def _ends(counts: Sequence[int]) -> list[tuple[int, int]]:
    """Return where the first and the second stage may end: a line needs two points."""
    if len(counts) < 5:
        return [(counts[0], counts[-1])]
    # The first count is of the free stage; two at least are of each of the others.
    return [
        (counts[first], counts[second])
        for first in range(len(counts) - 4)
        for second in range(first + 2, len(counts) - 2)
    ]


def _stages(runs: Sequence[LoadingRun], ends: tuple[int, int, int]) -> tuple[Stage, ...]:
    found, after = [], 0
    for name, end in zip(STAGES, ends, strict=True):
        here = [run for run in runs if after < run.workers <= end]
        if here:
            read = _line(here, [run.read_s for run in here], flat=name == "free")
            prepare = _line(here, [run.prepare_s for run in here], flat=name == "free")
            found.append(Stage(name, end, read, prepare))
        after = end
    return tuple(found)


def _line(runs: Sequence[LoadingRun], values: list[float], flat: bool) -> tuple[float, float]:
    counts = np.array([run.workers for run in runs], dtype=np.float64)
    if flat or len(set(counts)) < 2:
        return float(np.mean(values)), 0.0
    slope, first = np.polyfit(counts, np.array(values), 1)
    return float(first), float(slope)


def features(runs: Sequence[LoadingRun], model: LoadingRate) -> NDArray[np.float64]:
    """Return what a regressor learns 1/F from: 1/d, and 1 and 1/d of the stage that it is in.

    Formula 7 with lines for 1/R and 1/U is 1/F = (p + q·d) / d = q + p/d, in each stage.
    """
    ends = [stage.most_workers for stage in model.stages[:-1]]
    found = []
    for run in runs:
        stage = sum(run.workers > end for end in ends)
        row = [0.0] * (2 * len(model.stages))
        row[2 * stage : 2 * stage + 2] = [1.0, 1.0 / run.workers]
        found.append(row)
    return np.array(found)
