"""Opportunistic sampling, for comparison: what is in memory is served before what is missing.

Quiver (FAST '20) and Seneca (FAST '26) let jobs out of step share this way. Every row comes once
in a pass, but what comes early is what others have just read: the order is not a reshuffle.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from joader.sampling import Draws, IndependentSampler
from joader.sampling.sampler import Counts, Job, check_counts, check_known

InMemory = Callable[[NDArray[np.int64]], NDArray[np.bool_]]


class OpportunisticSampler:
    """Draw in a random order, but what is in memory first."""

    def __init__(self, in_memory: InMemory, seed: int = 0) -> None:
        """Start without jobs; `in_memory` says which rows can be had at once."""
        self._in_memory = in_memory
        self._orders = IndependentSampler(seed)
        self._left: dict[Job, NDArray[np.int64]] = {}

    def add(self, job: Job, rows: ArrayLike, epoch: int = 0) -> None:
        """Begin a pass of this job over these rows."""
        self._orders.add(job, rows, epoch)
        self._left[job] = self._orders.draw({job: self._orders.remaining(job)})[job]

    def draw(self, counts: Counts) -> Draws:
        """Take what is in memory, in the job's own random order; then the rest of that."""
        check_counts(self, self._left, counts)
        drawn: Draws = {}
        for job, count in counts.items():
            left = self._left[job]
            ready = np.flatnonzero(self._in_memory(left))[:count]
            missing = np.setdiff1d(np.arange(ready.size + count), ready)
            places = np.concatenate([ready, missing[: count - ready.size]]).astype(np.intp)
            drawn[job] = left[places]
            self._left[job] = np.delete(left, places)
        return drawn

    def remaining(self, job: Job) -> int:
        """Return how many rows the job has not drawn in its pass."""
        check_known(self._left, job)
        return int(self._left[job].size)

    def unread(self, job: Job) -> NDArray[np.int64]:
        """Return the rows the job has not drawn in its pass, ascending."""
        check_known(self._left, job)
        return np.sort(self._left[job])

    def remove(self, job: Job) -> None:
        """Forget the job."""
        check_known(self._left, job)
        self._orders.remove(job)
        del self._left[job]
