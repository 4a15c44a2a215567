"""Jobs come, share workers, and go: time is worked out exactly."""

import pytest

from joader.schedule.shares.policies import policy_of
from papers.simulators.shares_over_time import Training, ends_s, stretches

EVEN, FAIR = policy_of("even").shares, policy_of("fair").shares


def ten_each(busy: float) -> float:
    return 10 * busy


def test_a_job_alone_takes_as_long_as_its_rows() -> None:
    parts = list(stretches([Training("a", 400)], 4, EVEN, ten_each))
    assert ends_s(parts) == {"a": pytest.approx(10)}


def test_a_job_that_cannot_train_faster_leaves_workers_to_others_only_in_a_pool() -> None:
    slow, quick = Training("slow", 100, rows_per_s=10, demand=1), Training("quick", 600)
    reserved = ends_s(list(stretches([slow, quick], 4, EVEN, ten_each)))
    pooled = ends_s(list(stretches([slow, quick], 4, FAIR, ten_each)))
    assert reserved["slow"] == pooled["slow"] == pytest.approx(10)
    assert reserved["quick"] == pytest.approx(10 + (600 - 200) / 40)
    assert pooled["quick"] == pytest.approx(10 + (600 - 300) / 40)


def test_a_change_of_shares_costs_a_pause_and_comes_at_the_end_of_the_window() -> None:
    jobs = [Training("a", 800), Training("b", 100, start_s=5)]
    parts = list(stretches(jobs, 4, EVEN, ten_each, pause_s=3, window_s=2))
    starts = [(part.start_s, part.workers) for part in parts]
    assert starts[0] == (0, {"a": 4})
    assert (7, {"a": 2, "b": 2}) in starts
    # 280 rows by 7; a pause to 10; b ends at 12; a has 20 a second until 14, then pauses again.
    ends = ends_s(parts)
    assert ends["b"] == pytest.approx(12)
    assert ends["a"] == pytest.approx(17 + (800 - 280 - 4 * 20) / 40)


def test_workers_that_are_idle_do_not_slow_the_others_down() -> None:
    def contended(busy: float) -> float:
        return 10 * min(busy, 2) + 2 * max(busy - 2, 0)

    jobs = [Training("a", 1000, rows_per_s=1), Training("b", 1000)]
    first = next(stretches(jobs, 4, EVEN, contended))
    busy = 2 + first.rows_per_s["a"] / (first.rows_per_s["b"] / 2)
    assert sum(first.rows_per_s.values()) == pytest.approx(contended(busy), rel=1e-6)


def test_a_job_with_fixed_workers_keeps_them() -> None:
    jobs = [Training("a", 100, fixed=1), Training("b", 100, fixed=2)]
    parts = list(stretches(jobs, 4, FAIR, ten_each))
    assert [part.workers for part in parts] == [{"a": 1, "b": 2}, {"a": 1}]
