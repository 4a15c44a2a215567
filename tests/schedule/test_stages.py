"""Rows that wait run many at a time, as many as their storage likes; rows that compute do not."""

import pytest

from joader.messages import Prepare, Prepared
from tests.schedule.floor import LAYOUT, SLOT_BYTES, Floor, Nursery, Worker


def report(worker: Worker, *samples: int, seconds: float, computed_s: float) -> None:
    """Say that samples are prepared; the rest of the time they waited."""
    waited_s = seconds - computed_s
    worker.say(Prepared(samples, (SLOT_BYTES,), (LAYOUT,), seconds, computed_s, waited_s))


def read(floor: Floor, row_s: float, computed_s: float, rounds: int, first: int = 0) -> int:
    """Have workers do rows, all at once, again and again; return the next sample."""
    sample = first
    for _ in range(rounds):
        if len(floor.dispatch.staff.crews["ticket 1"].queue) < 64:
            floor.prepare(1, *range(sample, sample + 64))
            sample += 64
        floor.settle()
        floor.now += row_s
        for worker in [one for one in floor.workers if one.alive and one.has]:
            report(worker, worker.has[0], seconds=row_s, computed_s=computed_s)
    return sample


def test_rows_that_compute_have_no_limit_but_processors() -> None:
    floor = Floor(cores=2)
    floor.join(1, workers=8)
    read(floor, 0.01, 0.01, 100)
    assert not floor.dispatch.staff.storages
    (crew,) = floor.dispatch.statistics()
    assert crew.in_flight_most == 0


def alone(floor: Floor, row_s: float) -> int:
    """Have one row done before all others, as the first of a recipe is; return the next sample."""
    floor.prepare(1, 0)
    floor.settle()
    floor.now += row_s
    (worker,) = [one for one in floor.workers if one.has]
    report(worker, 0, seconds=row_s, computed_s=0.0001)
    floor.settle()
    return 1


def test_rows_that_wait_no_longer_if_more_of_them_do_have_no_limit() -> None:
    floor = Floor(cores=2)
    floor.join(1, workers=8)
    read(floor, 0.02, 0.0001, 20)
    most = set()
    for round in range(200):
        read(floor, 0.02, 0.0001, 1, first=10_000 * (1 + round))
        (crew,) = floor.dispatch.statistics()
        most.add(crew.in_flight_most)
        assert crew.in_flight <= 8
    assert most == {0}  # to try fewer would cost rows
    for _ in range(20):
        floor.dispatch.wanted(1, 10, 1e-4, 0.1, floor.now)
    floor.look()
    its = floor.dispatch.allocation.statistics(floor.now)[1]
    assert its.work.storage_s > 100 * its.work.computing_s
    assert its.predicted_per_s == pytest.approx(8 / 0.02, rel=0.2)


def test_no_more_workers_are_at_work_than_a_storage_likes() -> None:
    """Beyond three, rows take as much longer as there are more of them, and half as long again."""
    floor = Floor(cores=2)
    floor.join(1, workers=12)
    sample = alone(floor, 0.01)
    for _ in range(400):
        busy = sum(bool(one.has) for one in floor.workers)
        row_s = 0.01 * max(1.0, busy / 3) ** 1.5
        sample = read(floor, row_s, 0.0001, 1, first=sample)
    working = []
    for _ in range(40):
        busy = sum(bool(one.has) for one in floor.workers)
        sample = read(floor, 0.01 * max(1.0, busy / 3) ** 1.5, 0.0001, 1, first=sample)
        working.append(sum(bool(one.has) for one in floor.workers))
    assert 2 <= sorted(working)[20] <= 4


def test_a_recipe_that_begins_to_compute_has_no_limit_any_more() -> None:
    floor = Floor(cores=2)
    floor.join(1, workers=8)
    sample = read(floor, 0.02, 0.0001, 40)
    assert floor.dispatch.staff.storages
    read(floor, 0.01, 0.0099, 60, first=sample)
    assert not floor.dispatch.staff.storages


def test_workers_that_read_ahead_are_told_how_many_at_a_time() -> None:
    floor = Floor(cores=2)
    floor.come(1, "ticket 1", workers=2, waits=True)
    floor.nurseries["ticket 1"] = Nursery(floor, "ticket 1")
    read(floor, 0.005, 0.0001, 12)
    told = [
        message.at_once
        for worker in floor.workers
        for message in worker.said
        if isinstance(message, Prepare)
    ]
    assert told[-1] > 0
    (crew,) = floor.dispatch.statistics()
    assert sum(worker.state.at_once for worker in floor.workers) == crew.in_flight_most


def test_the_limit_goes_with_who_reads() -> None:
    floor = Floor(cores=2)
    floor.join(1, workers=8)
    read(floor, 0.02, 0.0001, 40)
    floor.leave(1)
    for worker in floor.workers:
        worker.die()
    floor.later(5.0)
    assert not floor.dispatch.staff.storages
