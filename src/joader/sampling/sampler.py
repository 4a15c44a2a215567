"""What every sampler offers, and the checks they share.

A *pass* is one reading of a job's rows: `add` begins it, `draw` advances it, and when nothing
remains the same job may `add` the next one. A call that raises changes nothing.
"""

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from joader.errors import BadArgument, JobExists, NotEnoughRows, UnknownJob

Job = Hashable
Draws = dict[Any, NDArray[np.int64]]
Counts = Mapping[Any, int]  # by job; Any, because to mypy a str key is not a Hashable key


class Sampler(Protocol):
    """Decide which row each job reads next."""

    def add(self, job: Job, rows: ArrayLike, epoch: int = 0) -> None:
        """Begin a pass of this job over these rows."""

    def draw(self, counts: Counts) -> Draws:
        """Draw this many rows for each job, jointly, and return them in order."""

    def remaining(self, job: Job) -> int:
        """Return how many rows the job has not drawn in its pass."""

    def unread(self, job: Job) -> NDArray[np.int64]:
        """Return the rows the job has not drawn in its pass, ascending."""

    def remove(self, job: Job) -> None:
        """Forget the job and the rows it has not drawn."""


class Speed(NamedTuple):
    """How fast a job reads what it draws."""

    per_s: float
    waits: int = 0  # rows drawn before and not read yet
    once: bool = False  # what it has read is of no use to its later passes


@runtime_checkable
class Foresees(Protocol):
    """A sampler that knows when it will draw a row."""

    def seconds_until(
        self, rows: NDArray[np.int64], speeds: Mapping[Job, Speed]
    ) -> NDArray[np.float64]:
        """Return when the first of these jobs will read each row.

        Infinite if none of them will, not a number where that is not known.
        """

    def seconds_until_one(self, row: int, speeds: Mapping[Job, Speed]) -> float:
        """Return the same for one row."""


def check_new(sampler: Sampler, known: Mapping[Job, object], job: Job) -> None:
    """Raise JobExists if the job is in the middle of a pass."""
    if job in known and (left := sampler.remaining(job)):
        raise JobExists(
            f"job {job!r} has {left} rows left in its pass; finish it, or remove the job, "
            "before adding it again"
        )


def check_known(known: Mapping[Job, object], job: Job) -> None:
    """Raise UnknownJob if the job never joined or has left."""
    if job not in known:
        names = ", ".join(repr(name) for name in list(known)[:8]) or "none"
        raise UnknownJob(f"job {job!r} is not in the sampler, which has: {names}. Call add() first")


def check_counts(sampler: Sampler, known: Mapping[Job, object], counts: Counts) -> None:
    """Raise if any of the counts cannot be drawn, before anything is drawn."""
    for job, count in counts.items():
        check_known(known, job)
        if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 0:
            raise BadArgument(
                f"job {job!r} asks for {count!r} rows; a count must be an integer >= 0"
            )
        if count > (left := sampler.remaining(job)):
            raise NotEnoughRows(
                f"job {job!r} asks for {count} rows but has {left} left in its pass; "
                "draw the rest, then add() the next pass"
            )


def checked_seed(seed: int) -> int:
    """Return the seed, or raise BadArgument."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise BadArgument(f"seed is {seed!r}; it must be an integer >= 0")
    return int(seed)


def check_epoch(epoch: int) -> None:
    """Raise BadArgument unless the epoch is an integer >= 0."""
    if isinstance(epoch, bool) or not isinstance(epoch, int | np.integer) or epoch < 0:
        raise BadArgument(f"epoch is {epoch!r}; it must be an integer >= 0")
