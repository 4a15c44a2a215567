"""Rows have numbers that stay, whether they lie close together or far apart."""

import numpy as np
import pytest

from joader.sampling.row_index import RowIndex
from joader.sampling.rows import RowSet

SETS = {
    "from 0": (range(100), range(50, 300)),
    "from high": (range(10**6, 10**6 + 100), range(10**6 + 90, 10**6 + 250)),
    "scattered": ([5, 2**31, 2**32 - 1], [0, 5, 77, 2**32 - 2]),
    "none": ([], [3, 2**32 - 1]),
}


@pytest.mark.parametrize("name", list(SETS))
def test_numbers_stay_when_rows_are_added(name: str) -> None:
    first, second = (RowSet(np.array(rows, np.int64)) for rows in SETS[name])
    index = RowIndex(first)
    before = index.numbers(first)
    assert np.unique(before).size == first.size
    if not index.fits(second):
        return
    index.grow(second)
    assert index.numbers(first).tolist() == before.tolist()
    for rows in (first, second):
        numbers = index.numbers(rows)
        assert (numbers < index.span).all()
        assert index.rows(numbers).tolist() == rows.rows().tolist()
        assert index.has(rows.rows().astype(np.int64)).all()
    assert not index.has(np.array([40_000_000])).any()


def test_rows_that_would_waste_memory_do_not_fit() -> None:
    index = RowIndex(RowSet(np.arange(10**6, 10**6 + 100)))
    assert index.fits(RowSet(np.arange(10**6 + 50, 10**6 + 400)))
    assert not index.fits(RowSet(np.arange(100)))
    assert not index.fits(RowSet(np.array([10**9])))
    assert index.fits(RowSet(np.array([], np.int64)))
