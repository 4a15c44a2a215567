"""Samplers whose orders do not depend on other jobs: independent, seeded, sequential.

Each is one function from (rows, epoch) to an order. The order is fixed when the pass begins and
handed out from the front, so a draw is a slice.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from joader.sampling.bits import Bits
from joader.sampling.rows import Rows, checked_rows
from joader.sampling.sampler import (
    Counts,
    Draws,
    Job,
    Speed,
    check_counts,
    check_epoch,
    check_known,
    check_new,
    checked_seed,
)


@dataclass
class _Pass:
    order: Rows
    drawn: int = 0
    places: Rows | None = None  # of each row; made on demand

    def draws_until(self, rows: NDArray[np.int64], once: bool) -> NDArray[np.float64]:
        """Return how many draws away each row is; infinite if it is not of the pass."""
        size = self.order.size
        if self.places is None:
            self.places = np.full(int(self.order.max(initial=0)) + 1, size, np.uint32)
            self.places[self.order] = np.arange(size, dtype=np.uint32)
        here = rows < self.places.size
        place = self.places[rows * here].astype(np.float64)
        again = np.inf if once else size - self.drawn + size / 2
        away = np.where(place < self.drawn, again, place - self.drawn)
        away[~here | (place == size)] = np.inf
        return away


class _OwnOrder:
    """Common part of the three: one order per pass, handed out from the front."""

    def __init__(self) -> None:
        """Start without jobs."""
        self._passes: dict[Job, _Pass] = {}

    def add(self, job: Job, rows: ArrayLike, epoch: int = 0) -> None:
        """Begin a pass of this job over these rows."""
        check_epoch(epoch)
        check_new(self, self._passes, job)
        self._passes[job] = _Pass(self._order(checked_rows(rows), epoch))

    def draw(self, counts: Counts) -> Draws:
        """Hand each job the next rows of its own order."""
        check_counts(self, self._passes, counts)
        return {job: self._next(self._passes[job], int(count)) for job, count in counts.items()}

    def remaining(self, job: Job) -> int:
        """Return how many rows the job has not drawn in its pass."""
        check_known(self._passes, job)
        state = self._passes[job]
        return state.order.size - state.drawn

    def unread(self, job: Job) -> NDArray[np.int64]:
        """Return the rows the job has not drawn in its pass, ascending."""
        check_known(self._passes, job)
        state = self._passes[job]
        return np.sort(state.order[state.drawn :]).astype(np.int64)

    def seconds_until(
        self, rows: NDArray[np.int64], speeds: Mapping[Job, Speed]
    ) -> NDArray[np.float64]:
        """Return when the first of these jobs will read each row.

        A row that was read counts half a pass after the pass ends.
        """
        soonest = np.full(rows.size, np.inf)
        for job, speed in speeds.items():
            check_known(self._passes, job)
            away = self._passes[job].draws_until(rows, speed.once)
            np.minimum(soonest, (away + (speed.waits + 1)) / speed.per_s, out=soonest)
        return soonest

    def seconds_until_one(self, row: int, speeds: Mapping[Job, Speed]) -> float:
        """Return the same for one row."""
        return float(self.seconds_until(np.array([row]), speeds)[0])

    def remove(self, job: Job) -> None:
        """Forget the job."""
        check_known(self._passes, job)
        del self._passes[job]

    def _order(self, rows: Rows, epoch: int) -> Rows:
        raise NotImplementedError

    @staticmethod
    def _next(state: _Pass, count: int) -> NDArray[np.int64]:
        rows = state.order[state.drawn : state.drawn + count].astype(np.int64)
        state.drawn += count
        return rows


class SequentialSampler(_OwnOrder):
    """Every job reads its rows in the order in which they were added."""

    def _order(self, rows: Rows, epoch: int) -> Rows:
        return rows


class IndependentSampler(_OwnOrder):
    """Every job shuffles alone, as torch loaders do: the baseline (ISA) of the JOADER paper."""

    def __init__(self, seed: int = 0) -> None:
        """Start without jobs."""
        super().__init__()
        self._bits = Bits("independent", checked_seed(seed))

    def _order(self, rows: Rows, epoch: int) -> Rows:
        return rows[self._bits.permutation(rows.size)]


class SeededSampler(_OwnOrder):
    """An order that is a pure function of the set of rows, the seed and the epoch."""

    def __init__(self, seed: int = 0) -> None:
        """Start without jobs."""
        super().__init__()
        self._seed = checked_seed(seed)

    def _order(self, rows: Rows, epoch: int) -> Rows:
        # Sorted first: the order in which the same rows were handed over must not matter.
        return np.sort(rows)[Bits("seeded", self._seed, int(epoch)).permutation(rows.size)]
