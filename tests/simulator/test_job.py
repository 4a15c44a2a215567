"""A job takes any number, Python's or NumPy's, and names what is none."""

from fractions import Fraction

import numpy as np
import pytest

from joader.errors import BadArgument
from joader.simulator import Job, simulate
from joader.simulator.job import checked_jobs


@pytest.mark.parametrize(
    "two", [2, 2.0, np.float32(2), np.float64(2), np.int8(2), np.uint64(2), Fraction(2)]
)
def test_numbers_of_any_kind_are_taken_exactly(two: float) -> None:
    (job,) = checked_jobs([Job([1], speed=two, start=two)])
    assert (job.speed, job.start) == (2, 2)
    jobs = [Job(range(20), speed=two, start=two), Job(range(20))]
    plain = [Job(range(20), speed=2, start=2), Job(range(20))]
    assert simulate(jobs, capacity=3) == simulate(plain, capacity=3)


def test_epochs_may_be_numpy_s() -> None:
    (job,) = checked_jobs([Job([1], epochs=np.int64(2))])  # type: ignore[arg-type]
    assert job.epochs == 2
    assert type(job.epochs) is int


NO_NUMBERS = [float("nan"), float("inf"), np.float32("inf"), "2", None, True, 1j, [1], np.array(2)]


@pytest.mark.parametrize("value", [*NO_NUMBERS, 0, -1, np.float32(-1)])
def test_a_speed_is_a_finite_number_above_0(value: float) -> None:
    with pytest.raises(BadArgument, match=r"job 1 has speed .*; it must be a number above 0"):
        checked_jobs([Job([1]), Job([1], speed=value)])


@pytest.mark.parametrize("value", [*NO_NUMBERS, -1, np.float32(-1)])
def test_a_start_is_a_finite_number_from_0_on(value: float) -> None:
    with pytest.raises(BadArgument, match=r"job 0 starts at .*; it must be a number >= 0"):
        checked_jobs([Job([1], start=value)])


@pytest.mark.parametrize("value", [*NO_NUMBERS, -1, 1.0, np.int8(-1)])
def test_epochs_are_an_integer_from_0_on(value: int) -> None:
    with pytest.raises(BadArgument, match=r"job 0 has .* epochs; it must be an integer >= 0"):
        checked_jobs([Job([1], epochs=value)])


def test_what_is_no_job_is_named() -> None:
    with pytest.raises(BadArgument, match="jobs is 3; it must be a sequence of Job"):
        checked_jobs(3)  # type: ignore[arg-type]
    with pytest.raises(BadArgument, match="job 0 is range"):
        checked_jobs([range(3)])  # type: ignore[list-item]
