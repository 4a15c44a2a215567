"""Bars and curves out of characters."""

import hypothesis.strategies as st
from hypothesis import given

from joader.cli.top.bars import FINE, PLAIN, bar, curve, cuts, glyphs_for


def test_bars_and_curves() -> None:
    assert bar(0.5, 4, FINE) == "██░░"
    assert bar(7.0, 4, PLAIN) == "####"
    assert cuts([0.98, 0.001, 0.019], 10) == [8, 1, 1]
    assert cuts([0.0, 1.0], 4) == [0, 4]
    assert curve([0, 0], 4, FINE) == "▁▁"
    assert curve([0, 5, 10], 2, FINE) == "▅█"
    assert glyphs_for("UTF-8") is FINE
    assert glyphs_for("ascii") is PLAIN


@given(
    parts=st.lists(st.floats(0.0, 1.0), min_size=1, max_size=4).filter(lambda p: sum(p) > 0),
    width=st.integers(4, 60),
)
def test_parts_of_a_whole_fit_and_none_of_them_is_lost(parts: list[float], width: int) -> None:
    whole = [part / sum(parts) for part in parts]
    found = cuts(whole, width)
    assert sum(found) <= width
    assert [count > 0 for count in found] == [part > 0 for part in whole]


@given(values=st.lists(st.floats(-1.0, 1e6), max_size=20), width=st.integers(1, 10))
def test_a_curve_shows_the_last_values_the_highest_at_the_top(
    values: list[float], width: int
) -> None:
    line = curve(values, width, FINE)
    assert len(line) == min(width, len(values))
    shown = values[-width:]
    if shown and max(shown) > 0:
        assert line[shown.index(max(shown))] == FINE.steps[-1]
