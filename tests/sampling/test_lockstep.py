"""One order and one pace for all jobs."""

import numpy as np
import pytest

from joader.errors import BadArgument, BadRows
from joader.sampling import LockstepSampler

ROWS = np.arange(10)


def pair() -> LockstepSampler:
    sampler = LockstepSampler(3)
    sampler.add("a", ROWS)
    sampler.add("b", ROWS[::-1])
    return sampler


def test_all_jobs_read_the_same_rows_together() -> None:
    sampler = pair()
    first, rest = sampler.draw({"a": 4, "b": 4}), sampler.draw({"a": 6, "b": 6})
    assert first["a"].tolist() == first["b"].tolist()
    assert sorted([*first["a"], *rest["a"]]) == ROWS.tolist()
    assert sampler.remaining("a") == 0


def test_no_job_runs_ahead_and_a_refused_draw_draws_nothing() -> None:
    sampler = pair()
    for counts in ({"a": 1}, {"a": 1, "b": 2}):
        with pytest.raises(BadArgument, match="with the same count"):
            sampler.draw(counts)
    assert sampler.remaining("a") == sampler.remaining("b") == 10
    assert sampler.unread("b").tolist() == ROWS.tolist()


def test_a_job_that_comes_late_or_with_other_rows_is_refused() -> None:
    sampler = pair()
    with pytest.raises(BadRows, match="different rows"):
        sampler.add("c", ROWS[:5])
    sampler.draw({"a": 1, "b": 1})
    with pytest.raises(BadArgument, match="in the middle of a pass"):
        sampler.add("c", ROWS)


def test_the_others_go_on_without_a_job_that_leaves() -> None:
    sampler = pair()
    sampler.draw({"a": 4, "b": 4})
    sampler.remove("b")
    assert sampler.draw({"a": 6})["a"].size == 6


def test_the_next_pass_has_another_order_and_perhaps_other_rows() -> None:
    sampler = LockstepSampler(3)
    orders = []
    for _ in range(2):
        sampler.add("a", np.arange(50))
        orders.append(sampler.draw({"a": 50})["a"].tolist())
    assert orders[0] != orders[1]
    sampler.add("a", ROWS[:3])
    assert sampler.remaining("a") == 3
