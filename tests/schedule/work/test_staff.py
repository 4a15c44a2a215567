"""Who has what: the one place where that is changed."""

import math

import pytest

from joader.errors import BadMessage
from joader.messages import Compare, Compared, Lost, Stop
from joader.schedule.work.actions import Give, Tell
from joader.schedule.work.claims import Claims
from joader.schedule.work.crew import Crew, Worker
from joader.schedule.work.orders import Own, Row
from joader.schedule.work.staff import Staff


def row(sample: int) -> Row:
    return Row("code", 1, 7, sample, sample, sample, 0, sample * 64, 64)


def own(sample: int, source: int, layout: bytes = b"", job: int = 1) -> Own:
    return Own(job, 7, sample, source, -1, sample, 0, sample * 64, 64, layout)


@pytest.fixture
def staff() -> Staff:
    """Return a staff of one crew with one worker."""
    staff = Staff()
    crew = staff.crews["ticket"] = Crew("ticket", "code", Claims(staff.accounts, "code"), {1})
    worker = staff.workers[1] = Worker(1, crew, 0, 1001, latest=0.0)
    crew.workers.append(worker)
    staff.timeout_s[1] = 10.0
    return staff


def told(staff: Staff) -> list[object]:
    return [action.event for action in staff.out if isinstance(action, Tell)]


def test_a_ticket_of_no_crew_is_refused(staff: Staff) -> None:
    assert staff.crew("ticket").ticket == "ticket"
    with pytest.raises(BadMessage, match="is not here any more"):
        staff.crew("another")


def test_what_is_given_has_a_holder_until_it_is_dropped_and_comparisons_have_none(
    staff: Staff,
) -> None:
    worker = staff.workers[1]
    staff.give(worker, [row(5), Compare(1, 6, "code", 6, 0)], now=3.0)
    assert worker.latest == 3.0
    assert staff.holder == {5: worker}
    assert staff.dropped(worker, 5) == row(5)
    assert (staff.holder, list(worker.busy)) == ({}, [6])


def test_a_row_may_take_as_long_as_the_most_patient_who_reads_it_waits(staff: Staff) -> None:
    staff.crews["other"] = Crew("other", "code", Claims(staff.accounts, "code"), {2})
    staff.timeout_s[2] = 30.0
    crew = staff.crews["ticket"]
    assert staff.limit_s(crew, row(5)) == 30.0
    assert staff.limit_s(crew, own(50, 5)) == 10.0
    assert staff.limit_s(crew, own(50, 5, job=9)) == math.inf


def test_an_own_part_goes_to_who_has_its_source_or_is_held_for_it(staff: Staff) -> None:
    worker, crew = staff.workers[1], staff.crews["ticket"]
    staff.give(worker, [row(5)], now=0.0)
    staff.finish(crew, own(50, 5), now=0.0)
    assert list(worker.busy) == [5, 50]
    staff.finish(crew, own(60, 6), now=0.0)
    assert staff.held == {6: [(crew, own(60, 6))]}
    staff.finish(crew, own(70, 7, b"layout"), now=0.0)
    assert list(crew.queue) == [own(70, 7, b"layout")]
    staff.gone(5, worker)
    assert list(worker.busy) == [5]


def test_what_is_lost_takes_own_parts_along_and_is_suspect_only_if_blamed(staff: Staff) -> None:
    crew = staff.crews["ticket"]
    staff.finish(crew, own(50, 5), now=0.0)
    staff.lose([5], "it died", blamed=True)
    assert told(staff) == [Lost((5, 50), "it died", True)]
    assert staff.suspects == {5, 50}
    staff.lose([6], "it was told to end", blamed=False)
    assert staff.suspects == {5, 50}
    staff.closing = True
    staff.lose([7], "it died", blamed=True)
    assert len(told(staff)) == 2


def test_a_crew_that_ends_lets_each_worker_finish_what_it_has(staff: Staff) -> None:
    worker, crew = staff.workers[1], staff.crews["ticket"]
    staff.give(worker, [row(5)], now=0.0)
    staff.queue_rows(crew, [row(6)])
    staff.finish(crew, own(70, 7), now=0.0)
    assert staff.end(crew) == [6, 70]
    assert Give(1, [Stop()]) not in staff.out
    staff.dropped(worker, 5)
    staff.let_leave(worker)
    assert staff.out[-1] == Give(1, [Stop()])


def test_a_comparison_is_told_once(staff: Staff) -> None:
    worker = staff.workers[1]
    staff.compares["ticket", 6] = 1
    staff.give(worker, [Compare(1, 6, "code", 6, 0)], now=0.0)
    staff.compared(worker, 6, same=False)
    staff.compared(worker, 6, same=False)
    assert told(staff) == [Compared(1, 6, False)]
