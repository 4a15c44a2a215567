"""The figure of streams beside what any order could share."""

import pytest

from papers.figure import Effort
from papers.figures.streams_figure import STREAMS, bound, rows_of


@pytest.mark.slow
def test_the_figure_has_its_panels_and_ticks_as_often_as_it_says() -> None:
    effort = Effort(400, 1, (0.0,))
    assert rows_of(effort) == 100
    ticks: list[None] = []
    rows = list(STREAMS.rows(0, effort, lambda: ticks.append(None)))
    assert len(ticks) == STREAMS.steps(effort)
    assert {row.case.split(":")[0] for row in rows} == set(STREAMS.panels)
    bounds = [row for row in rows if row.paper is not None]
    assert bounds
    assert all(row.ours >= row.paper - 0.03 for row in bounds if row.paper)
    assert bound("no memory", 30) == pytest.approx(0.605)
    assert bound("offset", 30) is None


def test_bounds_are_known_where_they_can_be_worked_out() -> None:
    assert bound("no memory", 0) == 0.5  # both read the same from the start
    assert bound("offset", 30) is None
