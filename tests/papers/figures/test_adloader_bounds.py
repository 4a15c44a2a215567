"""What anybody could gain over an even split of the A-Dloader paper's workers."""

import pytest

from joader.schedule.shares.policies import policy_of
from papers.figures import (
    adloader_bounds,
    adloader_jobs,
)


def test_no_order_of_jobs_is_fifteen_percent_better_than_an_even_split_of_all_workers() -> None:
    even = adloader_jobs.times(adloader_jobs.run(policy_of("even").shares)).latency_s
    best, most = adloader_bounds.best_order(), adloader_bounds.without_end()
    assert 0.85 * even < best.latency_s < 0.91 * even
    assert most.latency_s == pytest.approx(0.8 * even, rel=0.01)
