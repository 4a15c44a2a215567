"""The equations of the locality paper are averages of the simulation."""

from papers.figure import Effort
from papers.figures import locality_model
from tests.papers.figures.rows import by_point


def test_the_equations_are_averages_of_the_simulation() -> None:
    for row in by_point(locality_model.FIGURE, Effort(2000, 1, (1.0,))).values():
        assert row.paper is not None
        assert 0.999 * row.paper <= row.ours <= 1.02 * row.paper
