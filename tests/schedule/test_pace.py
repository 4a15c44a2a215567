"""How many rows a worker should have in hand, and how fast a job reads."""

import pytest

from joader.schedule.pace import AHEAD, MOST_AHEAD, ReadingPace, RowPace


def test_rows_that_are_not_known_to_be_quick_come_two_at_a_time() -> None:
    pace = RowPace()
    assert pace.room(0, waits=False) == 2
    assert pace.room(2, waits=False) == 0
    assert pace.room(0, waits=True) == AHEAD  # rows that wait for a network are begun together


def test_quick_rows_come_in_large_parts_and_never_too_many() -> None:
    pace = RowPace()
    for _ in range(200):
        pace.note(1e-5, 10)
    assert pace.room(0, waits=False) == MOST_AHEAD
    assert pace.room(MOST_AHEAD - 10, waits=False) == 0  # not for a few
    assert pace.room(MOST_AHEAD // 2, waits=False) == MOST_AHEAD // 2


def test_the_pace_of_a_job_does_not_depend_on_its_batches() -> None:
    for size in (10, 50):
        pace = ReadingPace(size, 4.0)
        assert not pace.known
        for step in range(400 // size):
            pace.note(size, 100.0 + step * size / 20)
        assert pace.known
        assert pace.per_s == pytest.approx(20.0, rel=0.05)
