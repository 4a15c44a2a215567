"""A-Dloader's four regressors."""

import numpy as np
import pytest

from papers.models.regressors import NAMES, compare

pytest.importorskip("sklearn")


def test_each_learns_a_line_and_the_linear_one_learns_it_exactly() -> None:
    rng = np.random.default_rng(0)
    rows = rng.random((80, 3))
    times = 0.1 + rows @ np.array([1.0, 0.5, 0.0])
    found = dict(compare(rows, times, list(range(60)), list(range(60, 80))))
    assert tuple(found) == NAMES
    assert found["linear"].r_squared > 0.9999
    assert found["polynomial"].r_squared > 0.999
    assert all(one.median_error < 0.2 for one in found.values())
