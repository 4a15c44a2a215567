"""Positions that samplers give, checked before the daemon is asked for them."""

from typing import Any

import numpy as np
import pytest

from joader.client.samplers import Batches, batches_of
from joader.errors import BadArgument


def read(batch_sampler: Any, length: int = 10) -> list[list[int]]:
    return list(batches_of(None, batch_sampler, None, length))


def test_positions_are_plain_numbers_whatever_they_came_as() -> None:
    assert read([(1, 2), np.array([3]), range(2), [np.int32(4), True]]) == [
        [1, 2],
        [3],
        [0, 1],
        [4, 1],
    ]
    assert list(batches_of([5, 6], None, None, 10)) == [[5], [6]]


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
