"""Curves in the terminal can be read, with colours and without."""

from rich.text import Text

from joader.cli.chart import COLOURS, chart


def plain(text: str) -> list[str]:
    return Text.from_markup(text).plain.splitlines()


def test_a_chart_puts_high_values_high() -> None:
    lines = plain(chart({"falling": [(0, 100), (10, 0)]}, "x", "y", 10, 5))
    assert lines[1].startswith("100 │")
    first, last = lines[1].split("│")[1], lines[5].split("│")[1]
    assert first[0] != " "
    assert first[-1] == " " == last[0]
    assert last[-1] != " "


def test_without_colours_a_letter_tells_each_curve_from_the_others() -> None:
    curves = {"high": [(0, 9.0), (9, 9.0)], "low": [(0, 1.0), (9, 1.0)]}
    lines = plain(chart(curves, "x", "y", 60, 6))
    assert "━A━ high" in lines[-1]
    assert "━B━ low" in lines[-1]
    plane = lines[1:-3]
    assert "A" in plane[0]
    assert "B" in "".join(plane[-2:])
    assert not any("A" in line and "B" in line for line in plane)


def test_letters_of_curves_that_run_together_stand_side_by_side() -> None:
    same = [(0, 5.0), (9, 5.0)]
    lines = plain(chart({"one": same, "two": same, "three": same}, "x", "y", 60, 6))
    assert {"A", "B", "C"} <= set(lines[1])


def test_each_curve_has_its_colour() -> None:
    text = chart({"one": [(0, 5.0), (9, 5.0)], "two": [(0, 1.0), (9, 2.0)]}, "x", "y", 40, 6)
    assert all(f"[{colour}]" in text for colour in COLOURS[:2])
