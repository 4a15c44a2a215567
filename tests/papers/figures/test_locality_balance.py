"""Two heaps even out a step in few transfers, Algorithm 1 of the locality paper."""

from papers.figure import Effort
from papers.figures import locality_balance
from tests.papers.figures.rows import by_point

SMALL = Effort(500, 1, (1.0,))


def test_two_heaps_stay_below_the_bound_and_near_the_optimum() -> None:
    for row in by_point(locality_balance.FIGURE, SMALL).values():
        assert row.paper is not None
        assert row.baseline is not None
        assert row.baseline <= row.ours <= min(row.paper, 1.15 * row.baseline)
