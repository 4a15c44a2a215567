"""Positions that samplers give, checked before the daemon is asked for them."""

from typing import Any

import numpy as np
import pytest

from joader.client.order.sampler_order import ToldOrder
from joader.client.order.samplers import Batches
from joader.errors import BadArgument


def read(batch_sampler: Any, length: int = 10) -> list[list[int]]:
    order = ToldOrder(None, batch_sampler, None, False, None, length)
    return [batch.positions for batch in order.read()]


def test_positions_are_plain_numbers_whatever_they_came_as() -> None:
    assert read([(1, 2), np.array([3]), range(2), [np.int32(4), True]]) == [
        [1, 2],
        [3],
        [0, 1],
        [4, 1],
    ]
    single = ToldOrder([5, 6], None, None, False, None, 10)
    assert [batch.positions for batch in single.read()] == [[5], [6]]


def test_positions_below_zero_count_from_the_end() -> None:
    assert read([[-1, 0, -10]]) == [[9, 0, 0]]


@pytest.mark.parametrize("position", [10, -11, "0", 0.0, None, (1, 2), 2**70])
def test_other_things_are_no_positions(position: object) -> None:
    with pytest.raises(BadArgument, match="are integers from 0 to 9") as error:
        read([[3, position]])
    assert f"gave {position!r};" in str(error.value)


def test_batches_of_a_sampler_are_cut_as_torch_cuts_them() -> None:
    for drop_last, batches in ((False, [[0, 1, 2], [3, 4]]), (True, [[0, 1, 2]])):
        made = Batches(range(5), 3, drop_last)
        assert list(made) == batches
        assert len(made) == len(batches)
