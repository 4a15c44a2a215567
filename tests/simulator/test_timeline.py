"""Every row is due at its time, every batch with its last row, and jobs meet in rounds."""

from fractions import Fraction

import numpy as np
import pytest

from joader.simulator.job import Job, checked_jobs
from joader.simulator.timeline import Moment, timeline


def moments(*jobs: Job, batch_size: int = 1) -> list[Moment]:
    return list(timeline(checked_jobs(jobs), batch_size))


def due(found: list[Moment], job: int) -> list[tuple[int, float]]:
    return [(count, now) for m in found for number, count, now in m.wants if number == job]


def test_the_kth_row_is_due_k_periods_after_the_pass_began() -> None:
    found = moments(Job(range(3), speed=2, start=10, epochs=2))
    assert due(found, 0) == [(1, 10.5), (1, 11.0), (1, 11.5), (1, 12.0), (1, 12.5), (1, 13.0)]
    assert [m.begins for m in found] == [((0, 0),), (), (), ((0, 1),), (), (), ()]
    assert [m.ends for m in found] == [(), (), (), (), (), (), (0,)]


def test_a_batch_is_due_with_its_last_row() -> None:
    found = moments(Job(range(5), epochs=2), batch_size=2)
    assert due(found, 0) == [(2, 2.0), (2, 4.0), (1, 5.0), (2, 7.0), (2, 9.0), (1, 10.0)]


def test_what_is_due_since_the_fastest_jobs_last_round_comes_with_its_next() -> None:
    found = moments(Job(range(3), speed=1), Job(range(9), speed=Fraction(5, 2)))
    rounds = [[number for number, _, _ in m.wants] for m in found if m.wants]
    assert rounds == [[1], [1], [0, 1], [1], [0, 1], [1], [1], [0, 1], [1]]
    assert due(found, 0) == [(1, 1.0), (1, 2.0), (1, 3.0)]


def test_speeds_that_no_fraction_of_a_second_fits_are_exact() -> None:
    found = moments(Job(range(30), speed=0.1), Job(range(900), speed=0.3, epochs=2))
    assert [now for _, now in due(found, 0)][-1] == pytest.approx(300)
    assert sum(count for count, _ in due(found, 1)) == 1800
    times = [now for m in found for _, _, now in m.wants]
    assert np.all(np.diff(times) > -4)  # a round is a row of the fastest


def test_a_job_that_starts_makes_a_moment_of_its_own() -> None:
    found = moments(Job(range(2)), Job(range(2), start=0.25))
    assert [m.begins for m in found][:2] == [((0, 0),), ((1, 0),)]
    assert [[number for number, _, _ in m.wants] for m in found[2:]] == [[0], [0, 1], [1]]


def test_jobs_without_rows_or_epochs_have_no_moments() -> None:
    assert moments(Job([]), Job(range(5), epochs=0)) == []
    assert moments() == []
