"""Every figure of the papers runs, ticks as often as it says, and depends on its seed alone."""

import ast
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType

import pytest

import joader.simulator
import papers.figures
from joader.schedule.nodes.placement import Node, homes
from papers.every_figure import EVERY_FIGURE
from papers.figure import Effort
from papers.figures.appendix import FIGURES

TINY = Effort(150, 1, (0.0, 0.5, 1.0))
OTHERS = [name for name in EVERY_FIGURE if name not in FIGURES and name != "streams"]


# They take seconds each in any size. What they say is tested in papers/, that they run by
# `make reproduce`, and that their code decides by the test below.
LARGE = {
    *("adloader-dynamic", "adloader-table1", "lobster-imbalance", "lobster-speedup"),
    "locality-imbalance",
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(one, marks=pytest.mark.slow) if one in LARGE else one for one in OTHERS],
)
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


# A model that is fitted is the point of some figures; else the code that serves jobs decides.
DECIDING = (
    *("joader.engine", "joader.cache", "joader.sampling", "joader.schedule"),
    "papers.models",
)
PACKAGE = Path(joader.simulator.__file__).parent.parent
FIGURES_LIE_IN = Path(papers.figures.__file__).parent


def imported(module: str) -> set[str]:
    """Return what a figure imports, itself or by others of figures and simulator."""
    found: set[str] = set()
    waiting = [module]
    while waiting:
        source = sys.modules[waiting.pop()].__file__
        assert source is not None
        for node in ast.walk(ast.parse(Path(source).read_text())):
            if isinstance(node, ast.ImportFrom) and node.module and node.module not in found:
                found.add(node.module)
                if node.module.startswith(("joader.simulator.", "papers.")):
                    waiting.append(node.module)
    return found


@pytest.mark.parametrize("name", OTHERS)
def test_no_figure_has_a_model_of_joader_of_its_own(name: str) -> None:
    module = f"papers.figures.{name.replace('-', '_')}"
    assert any(one.startswith(DECIDING) for one in imported(module))
    own = ast.parse((FIGURES_LIE_IN / f"{name.replace('-', '_')}.py").read_text())
    classes = [node.name for node in ast.walk(own) if isinstance(node, ast.ClassDef)]
    assert not [one for one in classes if one.endswith(("Engine", "Cache", "Sampler", "Policy"))]


# What has to decide in each figure: the rooms whose code must run while it is computed.
RUNS = {
    "joader": ("engine", "cache", "sampling"),
    "adloader": ("schedule",),
    "adloader-dynamic": ("engine", "schedule"),
    "adloader-table1": (),  # models alone, fitted
    "adloader-fig5": (),
    "lobster": ("schedule",),
    "lobster-hits": ("engine", "cache", "sampling", "schedule"),
    "lobster-gpu-use": ("engine", "cache", "sampling", "schedule"),
    "locality": ("schedule",),
}
SEEDS = iter(range(100, 10_000))  # none that another test has used: some results are kept by seed


class _AllSeen(Exception):
    """Nothing more has to be computed."""


def rooms_that_run(work: Callable[[], object], wanted: Iterable[str] = ()) -> set[str]:
    """Return the rooms of joader in which functions are called, until all wanted ones are."""
    start = str(PACKAGE) + "/"
    found: set[str] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(start):
            found.add(frame.f_code.co_filename[len(start) :].split("/")[0])
            if wanted and found.issuperset(wanted):
                raise _AllSeen

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    except _AllSeen:
        pass
    finally:
        sys.setprofile(before)
    return found


@pytest.mark.parametrize("name", OTHERS)
def test_what_decides_in_a_figure_is_the_code_that_serves_jobs(name: str) -> None:
    wanted = RUNS.get(name, RUNS[name.partition("-")[0]])
    figure, seed = EVERY_FIGURE[name], next(SEEDS)
    rooms = rooms_that_run(lambda: list(figure.rows(seed, TINY, lambda: None)), wanted)
    assert rooms.issuperset(wanted)


def test_a_figure_that_decides_by_itself_would_be_noticed() -> None:
    assert rooms_that_run(lambda: sorted(range(10))) == set()
    assert rooms_that_run(lambda: homes([1, 2, 3], [Node("a"), Node("b")])) == {"schedule"}
