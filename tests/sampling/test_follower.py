"""A pass over a generation: from the head to the end, then what it missed."""

import numpy as np
import pytest

from joader.sampling import StreamSampler
from joader.sampling.bits import Bits
from joader.sampling.blind import FREE
from joader.sampling.follower import Follower
from joader.sampling.generation import Generation
from joader.sampling.rows import RowSet


def test_a_late_job_reads_with_the_others_and_then_what_it_missed() -> None:
    sampler = StreamSampler(3, reach=10)
    sampler.add("early", range(1000))
    before = sampler.draw({"early": 300})["early"]
    sampler.add("late", range(1000))
    drawn = sampler.draw({"early": 700, "late": 700})
    assert drawn["early"].tolist() == drawn["late"].tolist()
    sampler.add("early", range(1000))
    sampler.draw({"early": 1})
    assert sampler.draw({"late": 300})["late"].tolist() == before.tolist()


ROWS = 100


def generation(reach: int = 20, number: int = 1) -> Generation:
    return Generation((0, 0, 0, number), np.arange(ROWS, dtype=np.uint32), ROWS, reach)


def begun(one: Generation, drives: bool = True, behind: int = 0) -> Follower:
    follower = Follower(RowSet(np.arange(ROWS)), one, drives, behind)
    if drives:
        one.drivers.append(follower)
    return follower


def taken(follower: Follower, count: int, newest: Generation | None = None) -> list[int]:
    follower.keep_up(count)
    rows = follower.take(count, newest or follower.generation, Bits("test", 0))
    follower.advance()
    return rows.tolist()


def test_the_first_pass_reads_the_order_and_moves_its_clock() -> None:
    one = generation()
    follower = begun(one)
    assert taken(follower, 30) == one.order[:30].tolist()
    assert (one.head, follower.left, follower.read) == (30, 70, 30)
    assert follower.leads


def test_a_pass_that_begins_later_begins_at_the_head_or_behind_it() -> None:
    one = generation()
    taken(begun(one), 60)
    late, resumed = begun(one), begun(one, behind=10)
    assert taken(late, 5) == one.order[60:65].tolist()
    assert taken(resumed, 5) == one.order[50:55].tolist()
    rest = [*taken(late, 35), *taken(late, 60)]
    assert rest == [*one.order[65:].tolist(), *one.order[:60].tolist()]


def test_who_is_nearer_to_the_start_than_a_new_pass_may_be_behind_begins_there() -> None:
    one = generation(reach=40)
    taken(begun(one), 5)
    assert one.back == 5
    assert taken(begun(one), 3) == one.order[:3].tolist()


def test_a_pass_that_memory_does_not_reach_back_to_jumps_to_the_head() -> None:
    one = generation(reach=20)
    fast, slow = begun(one), begun(one)
    taken(slow, 1)
    taken(fast, 20)
    assert taken(slow, 1) == [one.order[1]]
    for _ in range(5):
        taken(fast, 10)
    assert taken(slow, 1) == [one.order[70]]
    missed = [*taken(slow, 30), *taken(slow, 67)]
    assert sorted(missed) == sorted([*one.order[71:].tolist(), *one.order[2:70].tolist()])


def test_a_rest_that_drives_nothing_stays_beside_the_clock() -> None:
    one = generation(reach=20)
    rest = begun(one, drives=False)
    rest.use_marks(np.full(ROWS, FREE))
    assert not rest.leads
    read = [row for _ in range(10) for row in taken(rest, 10)]
    assert sorted(read) == list(range(ROWS))
    assert one.head == 0
    # It read ahead as far as it may, and then blind.
    assert read[: rest.limit()] == one.order[: rest.limit()].tolist()
    assert read != one.order.tolist()


def test_pace_is_of_counts_alone() -> None:
    one = generation(reach=1000)
    fast, slow = begun(one), begun(one)
    assert slow.pace() == 1.0  # nothing is known yet
    for _ in range(4):
        taken(fast, 20)
        taken(slow, 5)
    assert fast.pace() == 1.0
    assert slow.pace() == pytest.approx(20 / 80)
