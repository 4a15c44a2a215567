"""Three jobs on 18 workers: what the A-Dloader paper says, and what a pool does."""

import pytest

from joader.schedule.shares.policies import Need
from papers.figure import QUICK
from papers.figures import adloader_static
from tests.papers.figures.rows import by_case


def test_what_all_do_at_once_does_not_depend_on_the_split() -> None:
    found = by_case(adloader_static.FIGURE, QUICK)
    at_once = [row.ours for case, row in found.items() if case.startswith("at once")]
    assert at_once == pytest.approx([1660] * len(at_once), rel=0.01)


def test_the_static_gain_is_a_sum_of_means_over_different_times() -> None:
    found = by_case(adloader_static.FIGURE, QUICK)
    for case, tolerance in (("own means", 0.05), ("latency", 0.05), ("makespan", 0.05)):
        row = found[f"{case}: WAA"]
        assert row.ours == pytest.approx(row.paper, rel=tolerance)
    assert adloader_static.whole([Need(8), Need(14), Need(14)], 18) == [2, 8, 8]


def test_a_pool_without_pauses_is_done_before_waa() -> None:
    found = by_case(adloader_static.FIGURE, QUICK)
    assert found["makespan: pool, throughput"].ours < found["makespan: WAA"].ours
