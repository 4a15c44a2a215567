"""Folds cover every row once, growing parts lie in each other, and a seed fixes both."""

import re
from collections.abc import Callable

import numpy as np
import pytest

from joader import folds, growing
from joader.errors import BadArgument


@pytest.mark.parametrize(("length", "count"), [(10, 5), (11, 5), (7, 7), (1000, 2)])
def test_every_row_is_held_out_in_one_fold_and_trained_on_in_all_others(
    length: int, count: int
) -> None:
    parts = folds(length, count, seed=3)
    assert len(parts) == count
    held = np.concatenate([part for _, part in parts])
    assert np.sort(held).tolist() == list(range(length))
    assert max(part.size for _, part in parts) - min(part.size for _, part in parts) <= 1
    for train, part in parts:
        assert np.sort(np.concatenate([train, part])).tolist() == list(range(length))
        assert (np.diff(train) > 0).all()


def test_parts_grow() -> None:
    small, half, whole = growing(1000, [10, 0.5, 1.0], seed=1)
    assert (small.size, half.size, whole.size) == (10, 500, 1000)
    assert set(small) < set(half) < set(whole)


def test_a_seed_gives_the_same_parts_and_another_seed_others() -> None:
    first, again, other = (folds(100, 5, seed)[0][1].tolist() for seed in (1, 1, 2))
    assert first == again != other
    assert growing(100, [50], 1)[0].tolist() == growing(100, [50], 1)[0].tolist()


def test_rows_are_held_out_evenly() -> None:
    # 200 seeds of 2 folds: each row is held out in the first fold with p = 1/2. Binomial(200, 0.5)
    # lies outside of 55..145 with probability below 1e-9, times 100 rows.
    counts = np.zeros(100, int)
    for seed in range(200):
        counts[folds(100, 2, seed)[0][1]] += 1
    assert counts.min() > 55
    assert counts.max() < 145


def test_what_cannot_be_is_refused_with_what_can() -> None:
    with pytest.raises(
        BadArgument, match="10 rows cannot be split into 1 folds; use 2 to 10 folds"
    ):
        folds(10, 1)
    with pytest.raises(BadArgument, match=r"a part of 1\.5 of 10 rows"):
        growing(10, [1.5])
    with pytest.raises(BadArgument, match="a part of 11 of 10 rows"):
        growing(10, [11])
    with pytest.raises(BadArgument, match="length=-1 is negative"):
        growing(-1, [])


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda: folds(10, 2.5), "count is 2.5; it must be a whole number"),  # type: ignore[arg-type]
        (lambda: folds("x", 2), "length is 'x'; it must be a whole number"),  # type: ignore[arg-type]
        (lambda: folds(10, True), "count is True; it must be a whole number"),
        (lambda: growing(3, [0.01]), "0.01 of 3 rows is empty; give 1 to 3 rows"),
        (lambda: growing(3, [0]), "0 of 3 rows is empty"),
        (lambda: growing(3, [1.5]), "1.5 of 3 rows is not possible"),
        (lambda: growing(3, [float("nan")]), "nan of 3 rows is not possible"),
        (lambda: growing(3, ["all"]), "a size is 'all'; it must be a whole number"),  # type: ignore[list-item]
        (lambda: growing(2.5, [1]), "length is 2.5"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_number_of_rows_is_refused(wrong: Callable[[], object], says: str) -> None:
    with pytest.raises(BadArgument, match=re.escape(says)):
        wrong()


def test_numbers_of_numpy_are_numbers() -> None:
    assert len(folds(np.int64(10), np.int32(2))) == 2  # type: ignore[arg-type]
    assert growing(np.int64(10), [np.int64(1), 1, 1.0])[2].size == 10  # type: ignore[arg-type]
