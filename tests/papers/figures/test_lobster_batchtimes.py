"""How long steps take, Figure 8c of the Lobster paper."""

from papers.figure import Effort
from papers.figures import lobster_batchtimes
from tests.papers.figures.rows import by_point


def test_slow_steps_are_in_the_order_of_the_paper() -> None:
    found = by_point(lobster_batchtimes.FIGURE, Effort(600, 1, (1.0,)))
    slow = {case: row.ours for (case, x), row in found.items() if x == 90}
    assert slow["joader"] < slow["NoPFS"] < slow["DALI"]
