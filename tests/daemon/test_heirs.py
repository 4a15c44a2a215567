"""Rows that a node hands over, as they travel."""

import numpy as np
import pytest

from joader.daemon.heirs import packed, unpacked


@pytest.mark.parametrize("row_limit", [1, 7, 8, 9, 1000])
def test_rows_come_back_as_they_were(row_limit: int) -> None:
    rows = np.flatnonzero(np.random.default_rng(row_limit).random(row_limit) < 0.4)
    assert np.array_equal(unpacked(packed(rows, row_limit), row_limit), rows)


def test_rows_of_another_dataset_are_refused() -> None:
    data = packed(np.arange(10), 100)
    with pytest.raises(ValueError, match="3 bytes for 10 rows"):
        unpacked(data, 10)
    with pytest.raises(ValueError, match="13 bytes for 1000 rows"):
        unpacked(data, 1000)


def test_nonsense_is_refused_and_a_large_one_is_not_unpacked() -> None:
    with pytest.raises(ValueError, match="cannot decode"):
        unpacked(b"nonsense", 100)
    with pytest.raises(ValueError, match="bytes for 8 rows"):
        unpacked(packed(np.arange(10), 10_000_000), 8)
