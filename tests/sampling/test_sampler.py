"""Checks that all samplers share: what is wrong, and what was allowed."""

import numpy as np
import pytest

from joader.errors import BadArgument, JobExists, NotEnoughRows, UnknownJob
from joader.sampling import DependentSampler, IndependentSampler, StreamSampler
from joader.sampling.sampler import (
    Foresees,
    check_counts,
    check_epoch,
    check_known,
    check_new,
    checked_seed,
)


def with_a_pass() -> IndependentSampler:
    sampler = IndependentSampler(0)
    sampler.add("a", range(10))
    return sampler


def test_joint_draws_are_not_foreseen() -> None:
    assert isinstance(StreamSampler(0), Foresees)
    assert isinstance(IndependentSampler(0), Foresees)
    assert not isinstance(DependentSampler(0), Foresees)


def test_a_pass_may_begin_when_the_one_before_has_ended() -> None:
    sampler = with_a_pass()
    with pytest.raises(JobExists, match="'a' has 10 rows left"):
        check_new(sampler, {"a": 0}, "a")
    check_new(sampler, {"a": 0}, "b")
    sampler.draw({"a": 10})
    check_new(sampler, {"a": 0}, "a")


def test_a_job_that_is_not_there_is_answered_with_those_that_are() -> None:
    with pytest.raises(UnknownJob, match="which has: none"):
        check_known({}, "a")
    with pytest.raises(UnknownJob, match=r"'j7'\. Call add"):
        check_known({f"j{n}": n for n in range(20)}, "a")


@pytest.mark.parametrize("count", [-1, 2.0, True, "3", None])
def test_counts_are_integers_from_zero(count: object) -> None:
    sampler = with_a_pass()
    with pytest.raises(BadArgument, match=">= 0"):
        check_counts(sampler, {"a": 0}, {"a": count})  # type: ignore[dict-item]
    check_counts(sampler, {"a": 0}, {"a": np.int32(3)})


def test_no_more_can_be_drawn_than_is_left() -> None:
    check_counts(with_a_pass(), {"a": 0}, {"a": 10})
    with pytest.raises(NotEnoughRows, match="asks for 11 rows but has 10 left"):
        check_counts(with_a_pass(), {"a": 0}, {"a": 11})


@pytest.mark.parametrize("value", [-1, 1.0, False, "1"])
def test_seeds_and_epochs_are_integers_from_zero(value: object) -> None:
    with pytest.raises(BadArgument, match="seed is"):
        checked_seed(value)  # type: ignore[arg-type]
    with pytest.raises(BadArgument, match="epoch is"):
        check_epoch(value)  # type: ignore[arg-type]
    check_epoch(0)
    assert type(checked_seed(np.int64(3))) is int  # type: ignore[arg-type]
