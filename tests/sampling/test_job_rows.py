"""Positions, rows and the numbers that a sampler draws."""

import numpy as np
import pytest

from joader.errors import BadArgument, BadRows
from joader.sampling.job_rows import NUMBER_LIMIT, JobRows, occurrence

NOTHING = np.empty(0, np.int64)


def test_positions_in_any_order_are_found_by_their_numbers() -> None:
    rows = JobRows(np.array([30, 10, 20]), 100)
    assert rows.distinct
    assert rows.positions(np.array([10, 20, 30])).tolist() == [1, 2, 0]
    assert (rows.has(20), rows.has(40)) == (True, False)


def test_a_row_that_stands_at_several_positions_has_a_number_for_each() -> None:
    rows = JobRows(np.array([3, 1, 3, 3]), 10)
    assert not rows.distinct
    assert rows.numbers.tolist() == [3, 1, 13, 23]
    assert rows.positions(np.array([23, 3, 1])).tolist() == [3, 0, 1]
    assert rows.samples(100, np.array([3, 13, 1])).tolist() == [101, 103]


def test_occurrences_count_earlier_positions_of_the_same_row() -> None:
    rows = np.random.default_rng(0).integers(0, 5, 40)
    expected = [rows[:at].tolist().count(row) for at, row in enumerate(rows.tolist())]
    assert occurrence(rows).tolist() == expected
    assert occurrence(NOTHING).tolist() == []


def test_what_is_left_of_a_seeded_pass_keeps_its_order() -> None:
    rows = JobRows(np.arange(20), 20)
    whole = rows.left(NOTHING, epoch=2, seed=7).tolist()
    assert sorted(whole) == list(range(20)) != whole
    done = np.array(whole[:6])
    assert rows.left(done, epoch=2, seed=7).tolist() == whole[6:]
    assert rows.left(done).tolist() == sorted(whole[6:])


@pytest.mark.parametrize("rows", [[-1, 0], [0, 10]])
def test_rows_that_the_dataset_does_not_have_are_refused(rows: list[int]) -> None:
    with pytest.raises(BadRows, match=r"\[0, 10\)"):
        JobRows(np.array(rows), 10)


def test_a_row_too_often_for_32_bits_is_refused() -> None:
    with pytest.raises(BadArgument, match="a row occurs 3 times"):
        JobRows(np.array([5, 5, 5]), NUMBER_LIMIT // 2)
