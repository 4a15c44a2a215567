"""How fast a count grows, of late."""

import pytest

from joader.schedule.limits.rate import MEMORY_S, Rate


def grown(
    rate: Rate, per_s: float, seconds: float, total: float, now: float
) -> tuple[float, float]:
    for _ in range(round(seconds / 0.1)):
        total, now = total + 0.1 * per_s, now + 0.1
        rate.note(total, now)
    return total, now


def test_nothing_is_known_of_a_count_that_was_looked_at_once() -> None:
    rate = Rate()
    assert rate.per_s == 0.0
    rate.note(1000.0, 5.0)
    assert (rate.per_s, rate.recent) == (0.0, 0.0)


def test_what_grows_evenly_has_that_rate_however_often_it_is_looked_at() -> None:
    rate = Rate()
    rate.note(7.0, 0.0)
    for now in (0.1, 0.15, 3.0, 3.01, 40.0):
        rate.note(7.0 + 20.0 * now, now)
        assert rate.per_s == pytest.approx(20.0)


def test_what_happened_long_ago_hardly_counts() -> None:
    rate = Rate()
    rate.note(0.0, 0.0)
    total, now = grown(rate, 100.0, 10 * MEMORY_S, 0.0, 0.0)
    assert rate.recent == pytest.approx(100.0 * MEMORY_S, rel=0.1)
    total, now = grown(rate, 10.0, 5 * MEMORY_S, total, now)
    assert rate.per_s == pytest.approx(10.0, rel=0.15)
    grown(rate, 0.0, 10 * MEMORY_S, total, now)
    assert rate.per_s == pytest.approx(0.0, abs=0.1)


def test_a_clock_that_goes_back_changes_no_rate() -> None:
    rate = Rate()
    rate.note(0.0, 10.0)
    rate.note(5.0, 11.0)
    rate.note(5.0, 10.5)
    assert rate.per_s == pytest.approx(5.0)
