"""What a job reads next: drawn from what is left, or told."""

import numpy as np
import pytest

from joader.engine.plan import Drawn, Told
from joader.errors import BadArgument, UnknownJob
from joader.messages import Begin
from joader.sampling import SequentialSampler
from joader.sampling.job_rows import JobRows

ROWS = np.array([30, 10, 20])


def drawn() -> Drawn:
    return Drawn(1, JobRows(ROWS, 100), SequentialSampler(), seed=None)


def test_a_pass_draws_each_row_that_is_not_done_and_says_at_which_position() -> None:
    plan = drawn()
    assert plan.begin(Begin(1, done=np.array([1]), key=5), life=0).tolist() == [30, 20]
    assert plan.undrawn == 2
    stretch = plan.drew(plan.sampler.draw({1: 2})[1])
    assert (stretch.places.tolist(), stretch.rows.tolist()) == ([0, 2], [30, 20])
    assert plan.undrawn == 0
    assert plan.origin(2) == (5, 2, 0)


def test_what_was_planned_and_not_read_is_drawn_anew() -> None:
    plan = drawn()
    plan.begin(Begin(1, key=5), life=0)
    first = plan.drew(plan.sampler.draw({1: 2})[1])
    plan.begin_again(first.places[1:], epoch=0)
    assert sorted(plan.sampler.draw({1: 2})[1].tolist()) == [10, 20]


def test_a_plan_that_has_ended_is_no_longer_in_its_sampler_and_may_end_again() -> None:
    plan = drawn()
    plan.begin(Begin(1, key=5), life=0)
    plan.end()
    plan.end()
    with pytest.raises(UnknownJob):
        plan.sampler.remaining(1)


@pytest.mark.parametrize("done", [[-1], [0, 3]])
def test_positions_that_the_job_does_not_have_cannot_be_done(done: list[int]) -> None:
    with pytest.raises(BadArgument, match="the job has 3"):
        drawn().check(np.array(done))


def test_what_is_told_is_numbered_since_one_position_may_come_again() -> None:
    plan = Told(1, JobRows(ROWS, 100))
    plan.begin(Begin(1, key=9), life=0)
    plan.tell(np.array([2]), None)
    stretch = plan.tell(np.array([2, 0]), np.array([1, 0]))
    assert (stretch.places.tolist(), stretch.rows.tolist()) == ([1, 2], [20, 30])
    assert plan.origin(1) == (9, 2, 1)
    assert plan.origin(2) == (9, 0, 0)


def test_positions_that_are_not_there_cannot_be_told_and_take_no_number() -> None:
    plan = Told(1, JobRows(ROWS, 100))
    plan.begin(Begin(1, key=9), life=0)
    with pytest.raises(BadArgument, match="wants positions 0 to 3; it has 3"):
        plan.tell(np.array([0, 3]), None)
    assert plan.tell(np.array([1]), None).places.tolist() == [0]
