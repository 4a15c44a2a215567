"""A field of all samples: cells one by one and all at once are the same integers."""

import numpy as np
import pytest

from joader.cache.columns import Column


@pytest.mark.parametrize(("width", "bits"), [("b", 8), ("i", 32), ("q", 64)])
def test_a_column_holds_every_integer_of_its_width(width, bits):
    column = Column(width, 2)
    column.cells[0], column.cells[1] = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    assert column.all.itemsize * 8 == bits
    assert column.all.tolist() == [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1]
    with pytest.raises(OverflowError):
        column.cells[0] = 2 ** (bits - 1)


def test_what_is_written_one_by_one_is_read_as_an_array_and_the_other_way_round():
    column = Column("q", 3)
    column.cells[1] = 7
    column.all[2] = 9
    assert column.all.tolist() == list(column.cells) == [0, 7, 9]


def test_a_column_that_grows_keeps_its_values_and_fills_the_rest():
    column = Column("i", 2, fill=-1)
    column.cells[0] = 5
    column.grow(4)
    assert column.all.tolist() == [5, -1, -1, -1]
    column.cells[3] = 6
    np.add.at(column.all, [3, 3], 1)
    assert list(column.cells) == [5, -1, -1, 8]


def test_a_column_can_grow_while_somebody_looks_at_it():
    column = Column("q", 1)
    view = column.all
    column.grow(2)
    column.cells[0] = 3
    assert view.tolist() == [0]
