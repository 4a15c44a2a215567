"""Every figure of the papers runs, ticks as often as it says, and depends on its seed alone."""

import pytest

from joader.simulator.appendix import FIGURES
from joader.simulator.every_figure import EVERY_FIGURE
from joader.simulator.figures import Effort

TINY = Effort(150, 1, (0.0, 0.5, 1.0))
OTHERS = [name for name in EVERY_FIGURE if name not in FIGURES and name != "streams"]


@pytest.mark.parametrize("name", OTHERS)
def test_a_figure_ticks_as_often_as_it_says_and_depends_on_its_seed_alone(name: str) -> None:
    figure = EVERY_FIGURE[name]
    ticks: list[None] = []
    rows = list(figure.rows(7, TINY, lambda: ticks.append(None)))
    assert len(ticks) == figure.steps(TINY)
    assert figure.scale(TINY)
    for panel in figure.panels:
        assert any(row.case.startswith(f"{panel}: ") for row in rows)
    assert list(figure.rows(7, TINY, lambda: None)) == rows


def test_names_are_those_of_the_figures() -> None:
    assert all(name == figure.name for name, figure in EVERY_FIGURE.items())
