"""A simulated job, and the check that it can be simulated."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral, Rational, Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

from joader.errors import BadArgument
from joader.sampling.rows import checked_rows


@dataclass(frozen=True)
class Job:
    """A training job: what it reads, how fast (rows per unit of time), from when, how often."""

    rows: ArrayLike
    speed: float | Fraction = 1.0
    start: float | Fraction = 0.0
    epochs: int = 1


@dataclass(frozen=True)
class CheckedJob:
    """A job with distinct rows and exact times."""

    rows: NDArray[np.int64]
    speed: Fraction
    start: Fraction
    epochs: int


def checked_jobs(jobs: Iterable[Job]) -> list[CheckedJob]:
    """Return the jobs as they can be simulated; BadArgument or BadRows names what is wrong."""
    try:
        given = list(jobs)
    except TypeError as error:
        raise BadArgument(f"jobs is {jobs!r}; it must be a sequence of Job") from error
    return [_checked(number, job) for number, job in enumerate(given)]


def _checked(number: int, job: Job) -> CheckedJob:
    if not isinstance(job, Job):
        raise BadArgument(f"job {number} is {job!r}; write joader.simulator.Job(rows, ...)")
    speed, start = _exact(job.speed), _exact(job.start)
    if speed is None or speed <= 0:
        raise BadArgument(f"job {number} has speed {job.speed!r}; it must be a number above 0")
    if start is None or start < 0:
        raise BadArgument(f"job {number} starts at {job.start!r}; it must be a number >= 0")
    epochs = job.epochs
    if isinstance(epochs, bool) or not isinstance(epochs, Integral) or epochs < 0:
        raise BadArgument(f"job {number} has {epochs!r} epochs; it must be an integer >= 0")
    return CheckedJob(checked_rows(job.rows).astype(np.int64), speed, start, int(epochs))


def _exact(value: object) -> Fraction | None:
    """Return a finite number, Python's or NumPy's, as a fraction; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    as_float = float(value)
    return Fraction(as_float) if math.isfinite(as_float) else None
