"""Pictures of figures: true legends, grouped numbers, one entry a thing."""

import re
from html import unescape
from pathlib import Path

import pytest

from joader.cli.plot import check_plot_path
from joader.errors import BadArgument
from papers.figure import FULL, QUICK, Effort, Figure, Row
from papers.figures.appendix import FIG4B, FIG5A, INSERT, RANDOM4
from papers.plot import draw


def texts(figure: Figure, effort: Effort, rows: list[Row], folder: Path) -> list[str]:
    """Return all text of the figure's SVG."""
    draw(figure, effort, rows, str(folder / "a.svg"))
    return [unescape(t) for t in re.findall(r">([^<>\n]+)</text>", (folder / "a.svg").read_text())]


def rows(cases: list[str], paper: float | None = None) -> list[Row]:
    return [
        Row(case, x, paper, 5000.0 + place, 9000.0 + place, "samples prepared")
        for place, case in enumerate(cases)
        for x in (1, 10_000)
    ]


def test_a_figure_over_sets_names_each_case_once_and_each_kind_of_line_once(
    tmp_path: Path,
) -> None:
    found = texts(FIG4B, FULL, rows(["100 %", "75 %"], 5000.0), tmp_path)
    legend = ["second set: 100 %", "second set: 75 %", "joader", "every job shuffles alone"]
    assert [found.count(entry) for entry in (*legend, "paper or expected")] == [1] * 5
    assert "10,000" in found


def test_a_curve_that_all_cases_share_is_named_once(tmp_path: Path) -> None:
    found = texts(RANDOM4, FULL, rows(["joader", "paper's rule"]), tmp_path)
    legend = ["joader", "paper's rule", "every job shuffles alone"]
    assert [found.count(entry) for entry in legend] == [1] * 3
    assert "paper" not in found
    found = texts(FIG5A, FULL, rows(["LRU", "FIFO"], 5000.0), tmp_path)
    assert [found.count(entry) for entry in ("RefCnt", "LRU", "FIFO", "paper")] == [1] * 4


@pytest.mark.parametrize(
    ("effort", "said"),
    [
        (FULL, "128 datasets of 1,000,000 to 2,000,000 rows"),
        (QUICK, "25 datasets of 200,000 to 400,000 rows"),
    ],
)
def test_a_picture_says_how_large_the_run_was(effort: Effort, said: str, tmp_path: Path) -> None:
    one = [Row("join", 25, None, 0.1, 0.2, "s"), Row("join and draw", 25, None, 0.1, None, "s")]
    found = texts(INSERT, effort, one, tmp_path)
    assert said in found
    assert "paper" not in found


def test_png_and_svg_are_drawn_whatever_the_case_of_the_name(tmp_path: Path) -> None:
    draw(RANDOM4, FULL, rows(["joader"]), str(tmp_path / "a/b.PNG"))
    draw(RANDOM4, FULL, rows(["joader"]), str(tmp_path / "a/b.SVG"))
    assert (tmp_path / "a/b.PNG").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "a/b.SVG").read_text()


def test_equal_rows_give_equal_pictures(tmp_path: Path) -> None:
    for name in ("a.svg", "b.svg"):
        draw(RANDOM4, FULL, rows(["joader"]), str(tmp_path / name))
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


@pytest.mark.parametrize("path", ["a.gif", "noext", ".png"])
def test_other_endings_are_refused(path: str) -> None:
    with pytest.raises(BadArgument, match=r"must end in \.png or \.svg"):
        check_plot_path(path)
