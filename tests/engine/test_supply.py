"""Rows that nobody else needs are prepared whole once memory is full."""

from itertools import pairwise

import numpy as np
import pytest

from joader.engine import Limits
from joader.messages import Join, Prepare, Sized
from joader.messages.work import TIMES
from tests.engine.world import World

ROWS, SIZE = 60, 128
ROOM = 20 * SIZE  # in slots of rows and of own parts


def join(job: int, **more: object) -> Join:
    return Join(job, "photos", np.arange(ROWS), ROWS, 4, own=True, **more)  # type: ignore[arg-type]


def world() -> World:
    return World(ROOM, lambda row: SIZE, Limits(least_ahead=4))


def orders(on: World, since: int = 0) -> list[Prepare]:
    said = [one for _, instructions in on.log[since:] for one in instructions]
    return [one for one in said if isinstance(one, Prepare)]


def read(on: World, *jobs: int, batches: int = ROWS // 4) -> None:
    """Let jobs read so many batches, in step."""
    for _ in range(batches):
        for job in jobs:
            on.want(job, 4)
        on.settle()


def read_pass(on: World, *jobs: int, epoch: int = 0) -> None:
    for job in jobs:
        on.begin(job, epoch)
    read(on, *jobs)
    for job in jobs:
        assert sorted(on.got[job]) == list(range(ROWS))


def test_rows_go_whole_from_when_memory_is_full() -> None:
    on = world()
    on.join(join(1))
    read_pass(on, 1)
    whole = [order.whole for order in orders(on) for _ in order.samples]
    first = whole.index(True)
    assert 0 < first * SIZE <= ROOM
    assert sum(whole) > len(whole) // 2
    # What was kept before is as good as what would have come: it stays, and is used.
    kept = {row for order in orders(on) if not order.whole for row in order.rows}
    since = len(on.log)
    read_pass(on, 1, epoch=1)
    again = {row for order in orders(on, since) for row in order.rows}
    assert len(kept & again) <= len(kept) // 4
    assert on.prepared == len([row for order in orders(on) for row in order.rows])


def test_rows_that_two_jobs_need_are_prepared_once_and_kept_for_the_second() -> None:
    on = world()
    on.join(join(1))
    on.join(join(2))
    read_pass(on, 1, 2)
    assert on.prepared <= 1.1 * ROWS
    assert not any(order.whole for order in orders(on))


def test_the_last_job_that_needs_a_row_gets_it_whole() -> None:
    on = world()
    on.join(join(1, order="seeded", seed=3))
    read_pass(on, 1)
    on.join(join(2, order="seeded", seed=4))
    on.begin(2)
    since = len(on.log)
    read(on, 2)
    assert any(order.whole for order in orders(on, since))


def test_rows_that_other_nodes_may_ask_for_are_not_prepared_whole() -> None:
    on = world()
    on.join(join(1))
    on.engine._readers[1].recipe.samplers.stream = 5
    read_pass(on, 1)
    assert not any(order.whole for order in orders(on))


def first_whole(on: World) -> Prepare:
    """Have work come until rows go whole; return the order for them, which nobody has done."""
    on.join(join(1))
    on.begin(1)
    for _ in range(ROWS // 4):
        on.want(1, 4)
        while on.to_do or on.held[1]:
            for order in orders(on):
                if order.whole and set(order.samples) <= on.to_do.keys():
                    return order
            if on.held[1]:
                on.release(1)
            else:
                on.finish(next(iter(on.to_do)))
    raise AssertionError("no row went whole")


def test_what_was_lost_with_its_worker_goes_whole_again() -> None:
    on = world()
    order = first_whole(on)
    since = len(on.log)
    on.lose(order.samples)
    (again,) = orders(on, since)
    assert (again.whole, again.rows, again.times) == (True, order.rows, order.times)
    read(on, 1)
    assert sorted(on.got[1]) == list(range(ROWS))


def test_a_whole_row_of_a_late_worker_is_done_by_another_from_the_same_start() -> None:
    on = world()
    order = first_whole(on)
    since = len(on.log)
    on.late(order.samples)
    again = orders(on, since)
    assert again
    assert all(one.whole for one in again)
    pairs = dict(zip(order.rows, zip(order.positions, order.times, strict=True), strict=True))
    for one in again:
        assert not set(one.samples) & set(order.samples)
        for row, *start in zip(one.rows, one.positions, one.times, strict=True):
            assert pairs[row] == tuple(start)
    on.work()
    on.wake()
    read(on, 1)
    assert sorted(on.got[1]) == list(range(ROWS))
    on.leave(1)
    assert on.engine._cache.pinned_bytes == 0


def test_a_whole_row_that_needs_more_room_gets_it() -> None:
    on = World(ROOM, lambda row: SIZE if row != 41 else 2 * SIZE, Limits(least_ahead=4))
    on.join(join(1, order="given"))
    read_pass(on, 1)
    assert any(isinstance(event, Sized) for event, _ in on.log[ROWS:])


@pytest.mark.parametrize("fresh", [False, True])
def test_own_parts_start_where_they_would_if_they_had_a_source(fresh: bool) -> None:
    """A position's number says how its own part begins, whichever way it is done."""
    starts = []
    for room in (ROOM, 100 * ROOM):
        on = World(room, lambda row: SIZE, Limits(least_ahead=4))
        on.join(join(1, order="seeded", seed=7, fresh=fresh))
        on.begin(1)
        found: dict[int, tuple[int, int]] = {}
        for _ in range(ROWS // 4):
            on.want(1, 4)
            on.settle()
        for order in orders(on):
            for position, times in zip(order.positions, order.times, strict=True):
                found[position] = (order.key, times & TIMES)
        starts.append(found)
    assert starts[0] == starts[1]
    assert len(starts[0]) == ROWS
    assert all(before == after for before, after in pairwise(starts))
