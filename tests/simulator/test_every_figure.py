"""Every figure of the papers runs, ticks as often as it says, and depends on its seed alone."""

import ast
import sys
from pathlib import Path

import pytest

import joader.simulator
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


DECIDING = ("joader.engine", "joader.cache", "joader.sampling", "joader.schedule")
ROOM = Path(joader.simulator.__file__).parent


def imported(module: str) -> set[str]:
    """Return what a module of the simulator imports, itself or by others of the simulator."""
    found: set[str] = set()
    waiting = [module]
    while waiting:
        source = sys.modules[waiting.pop()].__file__
        assert source is not None
        for node in ast.walk(ast.parse(Path(source).read_text())):
            if isinstance(node, ast.ImportFrom) and node.module and node.module not in found:
                found.add(node.module)
                if node.module.startswith("joader.simulator."):
                    waiting.append(node.module)
    return found


@pytest.mark.parametrize("name", OTHERS)
def test_no_figure_has_a_model_of_joader_of_its_own(name: str) -> None:
    module = f"joader.simulator.papers.{name.replace('-', '_')}"
    assert any(one.startswith(DECIDING) for one in imported(module))
    own = ast.parse((ROOM / "papers" / f"{name.replace('-', '_')}.py").read_text())
    classes = [node.name for node in ast.walk(own) if isinstance(node, ast.ClassDef)]
    assert not [one for one in classes if one.endswith(("Engine", "Cache", "Sampler", "Policy"))]
