"""Lobster's portfolio: the nearest size, the peak, and threads that move to loading."""

import pytest

from joader.errors import BadArgument
from papers.models import portfolio
from papers.models.portfolio import Threads, size_class
from papers.models.runs import LoadingRun


def runs(sample_bytes: int, alone_s: float, peak: int = 6) -> list[LoadingRun]:
    """Threads help up to a peak, and then disturb each other (Lobster Fig. 6)."""
    found = []
    for workers in range(1, 13):
        busy = min(workers, peak) - 0.15 * max(0, workers - peak)
        rate = busy / alone_s
        found.append(LoadingRun("a", sample_bytes, workers, rate, 0.0, alone_s, alone_s))
    return found


def test_the_peak_is_found_and_not_exceeded() -> None:
    found = portfolio.fit(runs(100_000, 0.01))
    assert found.peak("a", 100_000, 12) in (5, 6, 7)
    assert found.peak("a", 100_000, 3) == 3


def test_a_size_that_was_not_measured_has_the_model_of_the_nearest() -> None:
    found = portfolio.fit([*runs(1 << 12, 0.001), *runs(1 << 18, 0.1)])
    assert found.nearest("a", 1 << 13)(1) == pytest.approx(0.001, rel=0.2)
    assert found.nearest("a", 1 << 20)(1) == pytest.approx(0.1, rel=0.2)
    with pytest.raises(BadArgument, match="no model of recipe 'b'"):
        found.nearest("b", 100)
    with pytest.raises(BadArgument, match="0 bytes is too small"):
        size_class(0)


def divided(load_s: float, step_s: float) -> Threads:
    """Divide 12 threads where one alone loads a batch in `load_s`."""
    return portfolio.fit(runs(100_000, 0.01)).balanced(
        "a",
        100_000,
        batch=32,
        step_s=step_s,
        threads=12,
        load_s=lambda threads: load_s / threads,
    )


def test_quick_loading_leaves_the_peak_to_preparation() -> None:
    assert divided(load_s=0.01, step_s=1.0).prepare in (5, 6, 7)


def test_slow_loading_takes_threads_until_it_is_not_what_takes_longer() -> None:
    slow = divided(load_s=0.9, step_s=0.05)
    assert slow.load > divided(load_s=0.01, step_s=1.0).load
    assert sum(slow) == 12
    hopeless = divided(load_s=100.0, step_s=0.05)
    assert hopeless == Threads(1, 11)


def test_one_thread_cannot_be_divided() -> None:
    with pytest.raises(BadArgument, match="1 threads cannot be divided"):
        portfolio.fit(runs(100_000, 0.01)).balanced(
            "a", 100_000, batch=1, step_s=1.0, threads=1, load_s=lambda threads: 1.0
        )
