"""Cells: rows move, and are neither lost nor doubled, whoever takes them and how many at once."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from joader.errors import OurError
from joader.sampling.bits import Bits
from joader.sampling.cells import Cells
from joader.sampling.rows import OpenSet, RowSet


def cells_with(*sets: set[int]) -> Cells:
    cells = Cells()
    for number, rows in enumerate(sets):
        cells.join(1 << number, OpenSet(RowSet(np.array(sorted(rows), np.int64))))
    return cells


def as_sets(cells: Cells) -> dict[int, set[int]]:
    return {cell.mask: set(cell.view().tolist()) for cell in cells if cell.rows}


@given(st.sets(st.integers(0, 40)), st.sets(st.integers(0, 40), min_size=1), st.data())
@settings(derandomize=True, deadline=None, max_examples=200)
def test_taking_many_at_once_moves_each_row_to_those_who_still_need_it(
    first: set[int], second: set[int], data: st.DataObject
) -> None:
    cells = cells_with(first, second)
    count = data.draw(st.integers(0, len(second)))
    taken = cells.take_many(2, count, Bits("test", data.draw(st.integers(0, 99)))).tolist()
    assert len(set(taken)) == count
    left = second - set(taken)
    expected = {1: first - left, 2: left - first, 3: first & left}
    assert as_sets(cells) == {mask: rows for mask, rows in expected.items() if rows}


def test_a_row_read_in_a_round_is_not_there_for_another_pick_of_that_round() -> None:
    for seed in range(50):
        cells = cells_with({1}, {1, 2})
        both = next(cell for cell in cells if cell.mask == 3)
        second = next(cell for cell in cells if cell.mask == 2)
        assert cells.play([(both, 1), (second, 2)], Bits("test", seed)) == [1, 2]


def test_cells_with_a_common_row_are_not_put_together() -> None:
    cells, other = cells_with({1, 2}), cells_with({2, 3})
    with pytest.raises(OurError):
        cells.absorb(other, {1: 2})
    cells.absorb(cells_with({3, 4}), {1: 2})
    assert as_sets(cells) == {1: {1, 2}, 2: {3, 4}}
