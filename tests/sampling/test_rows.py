"""Sets of rows, dense and sparse, at the ends of the range."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from joader.sampling.rows import OpenSet, RowSet

ROW = st.integers(0, 60) | st.integers(2**32 - 60, 2**32 - 1) | st.integers(0, 2**32 - 1)
SETS = st.sets(ROW, max_size=40)


@given(SETS, SETS)
@settings(derandomize=True, deadline=None, max_examples=300)
def test_a_set_of_rows_is_a_set(mine: set[int], others: set[int]) -> None:
    rows = RowSet(np.array(sorted(mine, key=hash), np.int64))
    asked = np.array(sorted(mine | others), np.uint32)
    assert rows.size == len(mine)
    assert rows.rows().tolist() == sorted(mine)
    opened = OpenSet(rows)
    assert opened.contains(asked).tolist() == [row in mine for row in asked.tolist()]
    common = np.array(sorted(mine & others), np.uint32)
    assert opened.without(common).tolist() == sorted(mine - others)
    assert opened.without(common).dtype == np.uint32
    assert (rows == RowSet(np.array(sorted(others), np.int64))) == (mine == others)


def test_any_integer_type_will_do() -> None:
    for kind in ("i1", "u1", "i2", ">i4", "u4", "<i8", ">u8"):
        assert RowSet(np.array([100, 3, 50], kind)).rows().tolist() == [3, 50, 100]


def test_dense_rows_far_from_zero_take_a_bit_each() -> None:
    assert RowSet(np.arange(4_000_000_000, 4_001_000_000)).kept.nbytes == 125_000


@pytest.mark.parametrize(
    "rows", [[], [7], range(100_000), range(3, 60_000, 5), range(0, 2**32, 2**20)]
)
def test_some_rows_are_rows_of_the_set_from_all_over(rows: object) -> None:
    everything = np.array(rows, np.int64)
    some = RowSet(everything).some(1000)
    assert np.isin(some, everything).all()
    assert np.unique(some).size == some.size <= 9000
    if everything.size > 1000:
        assert some.size >= 800
        assert np.histogram(some, 4, (everything[0], everything[-1]))[0].min() > some.size / 5
