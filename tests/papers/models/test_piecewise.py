"""A line with bends is fitted to what was measured, and to nothing beyond it."""

import pytest

from joader.errors import BadArgument
from papers.models import piecewise


def test_bends_are_found_where_they_are() -> None:
    x = [float(n) for n in range(1, 21)]
    y = [10.0 - 0.8 * min(n, 8) + 0.3 * max(0, n - 8) for n in x]
    found = piecewise.fit(x, y)
    assert 8.0 in found.at
    assert [found(n) for n in x] == pytest.approx(y, rel=1e-6)
    assert found(100) == found(20)
    assert piecewise.fit([2.0, 2.0], [1.0, 3.0])(7) == 2.0
    with pytest.raises(BadArgument, match="above 0"):
        piecewise.fit([1.0], [0.0])


def test_noise_makes_no_bends() -> None:
    x = [float(n) for n in range(1, 13)]
    y = [2.0 * n * (1.01 if n % 2 else 0.99) for n in x]
    assert piecewise.fit(x, y).at == (1.0, 12.0)


def test_two_bends_need_six_points() -> None:
    flat, steep = [1.0, 1.0, 1.0, 5.0, 9.0], [1.0, 1.0, 1.0, 9.0, 9.0, 9.0]
    assert len(piecewise.fit([1.0, 2.0, 3.0, 4.0, 5.0], flat).at) == 3
    assert len(piecewise.fit([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], steep).at) == 4
    assert len(piecewise.fit([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], steep, most_bends=1).at) == 3


def test_a_line_that_falls_below_zero_ends_above_it() -> None:
    found = piecewise.fit([1.0, 2.0, 3.0], [1.0, 0.1, 0.1], most_bends=0)
    assert min(found.values) >= 0.01
