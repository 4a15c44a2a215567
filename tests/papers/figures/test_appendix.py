"""Every figure runs, keeps its own promises, and claims for the paper no more than it says."""

from functools import cache

import numpy as np
import pytest

from papers.figure import FULL, QUICK, Effort, Row, mean_union, random_sets, union
from papers.figures.appendix import (
    FIG4B,
    FIG5A,
    FIGURES,
    INSERT,
    RANDOM4,
    at_one_slot,
    nested_pair,
    rows_and_seeds,
    union_from_60_percent,
)

TINY = Effort(100, 3, (0.0, 0.5, 1.0))
TINIEST = Effort(80, 1, (0.0, 0.5, 1.0))
LARGE_CACHES = Effort(100, 2, (0.6, 1.0))  # the bound is for these alone
SMALL = Effort(400, 1, (0.0, 0.05, 0.2, 0.6, 1.0))


def nothing() -> None:
    pass


@cache
def ticked(name: str, effort: Effort) -> tuple[list[Row], int]:
    """Return the rows of a figure and how often it ticked; several tests look at the same run."""
    ticks: list[None] = []
    return list(FIGURES[name].rows(0, effort, lambda: ticks.append(None))), len(ticks)


def tiny(name: str, effort: Effort = TINIEST) -> list[Row]:
    return ticked(name, effort)[0]


@pytest.mark.parametrize(
    "effort", [TINIEST, pytest.param(SMALL, marks=pytest.mark.slow)], ids=["tiniest", "small"]
)
@pytest.mark.parametrize("name", list(FIGURES))
def test_every_figure_runs_and_ticks_as_often_as_it_says(name: str, effort: Effort) -> None:
    figure = FIGURES[name]
    rows, ticks = ticked(name, effort)
    assert ticks == figure.steps(effort)
    assert all(row.ours > 0 for row in rows)
    if name != "joader-insert":
        assert all(row.baseline and row.ours <= 1.001 * row.baseline for row in rows)


@pytest.mark.parametrize(
    "effort", [TINIEST, pytest.param(TINY, marks=pytest.mark.slow)], ids=["tiniest", "tiny"]
)
@pytest.mark.parametrize("name", [name for name in FIGURES if name != "joader-insert"])
def test_what_all_cases_share_is_the_same_in_all(name: str, effort: Effort) -> None:
    figure, rows = FIGURES[name], tiny(name, effort)
    by_case = {case: [row for row in rows if row.case == case] for case in {r.case for r in rows}}
    for column, shared in (("ours", "baseline"), ("baseline", "ours")):
        curves = {tuple(getattr(row, column) for row in part) for part in by_case.values()}
        assert (len(curves) == 1) == (figure.varies == shared)


def test_what_the_paper_measured_is_given_only_at_its_size() -> None:
    sets = [[np.arange(9)] * 4]
    paper = at_one_slot(20_000)
    assert paper("paper's rule", 1, sets, FULL) == 20_000
    assert paper("joader", 1, sets, FULL) is None
    assert paper("paper's rule", 100, sets, FULL) is None
    for effort in (QUICK, TINY):
        assert paper("paper's rule", 1, sets, effort) is None
    assert all(row.paper is None for row in tiny("joader-random4") + tiny("joader-sizes4"))
    assert all(row.paper is None for row in INSERT.rows(0, TINY, nothing))


def test_a_figure_with_expected_values_says_so() -> None:
    assert {f.name for f in FIGURES.values() if "expected" in f.paper_label} == {FIG4B.name}
    pair = [[np.arange(10_000), np.arange(7_500)]]
    assert nested_pair("75 %", 1, pair, FULL) == pytest.approx(13_466, abs=1)
    assert nested_pair("75 %", 100, pair, FULL) is None
    assert nested_pair("75 %", 3_000, pair, FULL) == 10_000


def test_the_bound_of_figure_5_is_the_mean_of_the_same_seeds() -> None:
    sets = [random_sets(4)(TINY.size, seed) for seed in range(3)]
    assert len({union(one) for one in sets}) > 1
    assert union_from_60_percent("LRU", 1000, sets, TINY) == mean_union(sets)
    assert union_from_60_percent("LRU", 1, sets, TINY) is None
    bounded = [row for row in FIG5A.rows(0, LARGE_CACHES, nothing) if row.paper is not None]
    assert bounded
    assert all(row.paper is not None and row.ours >= row.paper for row in bounded)


def test_a_run_says_how_large_it_is() -> None:
    assert rows_and_seeds(FULL) == "largest set 10,000 rows, mean of 5 seeds"
    assert RANDOM4.scale(QUICK) == "largest set 2,000 rows, 1 seed"
    assert INSERT.scale(FULL) == "128 datasets of 1,000,000 to 2,000,000 rows"
    assert INSERT.scale(QUICK) == "25 datasets of 200,000 to 400,000 rows"
