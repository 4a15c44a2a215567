"""Every figure of the papers runs, ticks as often as it says, and depends on its seed alone."""

import pytest

from joader.simulator.appendix import FIGURES
from joader.simulator.every_figure import EVERY_FIGURE
from joader.simulator.figures import Effort

TINY = Effort(150, 1, (0.0, 0.5, 1.0))
OTHERS = [name for name in EVERY_FIGURE if name not in FIGURES and name != "streams"]


@pytest.mark.parametrize("name", OTHERS)
def test_a_figure_runs_and_ticks_as_often_as_it_says(name: str) -> None:
    figure = EVERY_FIGURE[name]
    ticks: list[None] = []
    rows = list(figure.rows(0, TINY, lambda: ticks.append(None)))
    assert len(ticks) == figure.steps(TINY)
    assert len({row.unit for row in rows}) >= 1
    assert figure.scale(TINY)
    for panel in figure.panels:
        assert any(row.case.startswith(f"{panel}: ") for row in rows)


@pytest.mark.parametrize("name", OTHERS)
def test_equal_seeds_give_equal_figures(name: str) -> None:
    figure = EVERY_FIGURE[name]
    first, second = (list(figure.rows(7, TINY, lambda: None)) for _ in range(2))
    assert first == second


def test_names_are_those_of_the_figures() -> None:
    assert all(name == figure.name for name, figure in EVERY_FIGURE.items())
