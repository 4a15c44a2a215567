"""Rows per second against workers, Figure 5 of the A-Dloader paper."""

import pytest

from papers.figure import QUICK
from papers.figures import adloader_fig5
from papers.figures.adloader_runs import PROCESSORS
from tests.papers.figures.rows import by_point


def test_one_worker_is_the_measure_of_all() -> None:
    first = by_point(adloader_fig5.FIGURE, QUICK)["measured", 1 / PROCESSORS]
    assert (first.paper, first.ours) == (1.0, 1.0)


def test_what_was_measured_has_three_stages_as_the_paper_says() -> None:
    found = by_point(adloader_fig5.FIGURE, QUICK)
    measured = {x * PROCESSORS: row.ours for (_, x), row in found.items()}
    # Each worker adds nearly as much as the first, then less, then nothing.
    assert measured[4] == pytest.approx(4, rel=0.15)
    assert 10 < measured[16] < 16
    assert measured[24] == pytest.approx(measured[16], rel=0.06)


def test_the_fitted_stages_follow_what_they_were_fitted_to() -> None:
    for row in by_point(adloader_fig5.FIGURE, QUICK).values():
        assert row.baseline == pytest.approx(row.ours, rel=0.15)
