"""Where a sample is, in words, and when what it waits for is given up."""

import pytest

from tests.schedule.floor import Floor


def test_a_sample_of_nobody_is_in_nobodys_hands() -> None:
    floor = Floor()
    floor.join(1)
    assert floor.whereabouts(5) == "is in no worker's hands"
    assert floor.acts_in_s(5) is None


def test_a_row_waits_for_workers_that_are_not_born() -> None:
    floor = Floor()
    floor.come(1, "ticket")
    floor.prepare(1, 5)
    assert "have not started yet" in floor.whereabouts(5)


def test_a_row_in_work_is_with_its_process_and_one_behind_it_says_so() -> None:
    floor = Floor(cores=1)
    ticket = floor.join(1, workers=1)
    floor.prepare(1, 5, 6)
    floor.settle()
    (worker,) = floor.of(ticket)
    assert worker.has == [5, 6]
    worker.begin(5)
    floor.now += 0.5
    place = f"worker process {worker.pid}"
    expected = f"has been with {place} for 0.5 s, which is at: reading the row"
    assert floor.whereabouts(5) == expected
    assert floor.whereabouts(6).startswith(f"waits in {place} behind row 5, there for 0.5 s")
    floor.prepare(1, 7, 8)
    told = f"waits behind 1 others for a free worker (processes: {worker.pid})"
    assert floor.whereabouts(8) == told


def test_an_own_part_waits_for_the_shared_part() -> None:
    floor = Floor()
    floor.join(1)
    floor.finish(50, source=5)
    assert floor.whereabouts(50) == "waits for the shared part of its sample"


def test_what_takes_half_of_its_time_is_given_up_when_the_rest_has_passed() -> None:
    floor = Floor(cores=1)
    ticket = floor.join(1, workers=1)
    floor.prepare(1, 5)
    floor.settle()
    (worker,) = floor.of(ticket)
    worker.begin(5)
    floor.now += 29.0
    assert floor.acts_in_s(5) is None
    floor.now += 11.0
    assert floor.acts_in_s(5) == pytest.approx(20.0)
