"""From how many nodes on learners wait, Figure 1 of the locality paper."""

from papers.figure import Effort
from papers.figures import locality_waiting
from tests.papers.figures.rows import by_point

SMALL = Effort(500, 1, (1.0,))


def test_learners_wait_from_16_nodes_on_and_not_if_rows_are_local() -> None:
    for row in by_point(locality_waiting.FIGURE, SMALL).values():
        assert row.ours == 0
        assert row.baseline is not None
        assert (row.baseline > 5) == (row.x >= 16)
