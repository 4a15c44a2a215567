"""CoorDL's rule, for comparison: one order and one pace for all jobs.

All jobs read the same rows; the order is drawn when the first of them begins, and no job may run
ahead: a draw moves every job that is in its pass forward by the same number of rows. JOADER removes
the cost of this.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from joader.errors import BadArgument, BadRows
from joader.sampling.bits import Bits
from joader.sampling.rows import Rows, checked_rows
from joader.sampling.sampler import (
    Counts,
    Draws,
    Job,
    check_counts,
    check_epoch,
    check_known,
    check_new,
    checked_seed,
)


class LockstepSampler:
    """One random order per pass, read by all jobs together."""

    def __init__(self, seed: int = 0) -> None:
        """Start without jobs."""
        self._bits = Bits("lockstep", checked_seed(seed))
        self._order: Rows = np.empty(0, np.uint32)
        self._drawn = 0
        self._in_pass: dict[Job, bool] = {}

    def add(self, job: Job, rows: ArrayLike, epoch: int = 0) -> None:
        """Begin a pass; a job that comes after its first draw is refused until it ends."""
        check_epoch(epoch)
        check_new(self, self._in_pass, job)
        checked = checked_rows(rows)
        if not any(self._in_pass.values()):
            self._order = checked[self._bits.permutation(checked.size)]
            self._drawn = 0
        elif self._drawn:
            raise BadArgument(
                f"job {job!r} cannot join in the middle of a pass: lockstep jobs start together. "
                "Use DependentSampler for jobs that come and go"
            )
        elif not np.array_equal(np.sort(checked), np.sort(self._order)):
            raise BadRows(
                f"job {job!r} has different rows from the jobs before it, but lockstep jobs read "
                "the same rows; use DependentSampler for overlapping sets"
            )
        self._in_pass[job] = bool(checked.size)

    def draw(self, counts: Counts) -> Draws:
        """Move all jobs forward by the same number of rows; unequal counts raise BadArgument."""
        check_counts(self, self._in_pass, counts)
        wanted = {job: int(counts.get(job, 0)) for job, active in self._in_pass.items() if active}
        if len(set(wanted.values())) > 1:
            raise BadArgument(
                f"counts are {dict(counts)!r}, but every lockstep job must take part in every draw "
                "with the same count; use DependentSampler for jobs of different speeds"
            )
        count = next(iter(wanted.values()), 0)
        rows = self._order[self._drawn : self._drawn + count].astype(np.int64)
        self._drawn += count
        if self._drawn == self._order.size:
            self._in_pass = dict.fromkeys(self._in_pass, False)
        return {job: rows[: int(asked)].copy() for job, asked in counts.items()}

    def remaining(self, job: Job) -> int:
        """Return how many rows the job has not drawn in its pass."""
        check_known(self._in_pass, job)
        return self._order.size - self._drawn if self._in_pass[job] else 0

    def unread(self, job: Job) -> NDArray[np.int64]:
        """Return the rows the job has not drawn in its pass, ascending."""
        left = self.remaining(job)
        return np.sort(self._order[self._order.size - left :]).astype(np.int64)

    def remove(self, job: Job) -> None:
        """Forget the job; the others go on."""
        check_known(self._in_pass, job)
        del self._in_pass[job]
