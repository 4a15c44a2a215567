"""Rows in chunks: each chunk is visited once, and values come in the order asked for."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from joader.storage.arrow_values import Taker, taker
from joader.storage.chunked import FEW, Chunked

pa = pytest.importorskip("pyarrow", reason="takers take from Arrow arrays")

LENGTHS = [5, 0, 40, 3]


class Squares(Chunked):
    """The squares of row numbers, and their texts; every seventh text is missing."""

    def __init__(self) -> None:
        self.columns = {"square": "int64", "text": "str"}
        self.set_chunks(LENGTHS)
        self.choose(None, ["square"])
        self.visits: list[int] = []

    def takers(self, chunk: int, columns: Sequence[str]) -> list[Taker]:
        self.visits.append(chunk)
        rows = range(self.starts[chunk], self.starts[chunk + 1])
        values = {
            "square": pa.array([row * row for row in rows], pa.int64()),
            "text": pa.array([str(row) if row % 7 else None for row in rows], pa.string()),
        }
        return [taker(values[name]) for name in columns]

    def identity(self) -> tuple[Any, ...]:
        return ()


def expected(rows: Sequence[int]) -> tuple[list[int], list[str | None]]:
    return [row * row for row in rows], [str(row) if row % 7 else None for row in rows]


@pytest.mark.parametrize("count", [1, 2, 6, 8 * FEW])
def test_values_come_in_the_order_asked_for(count: int) -> None:
    storage = Squares()
    rows = np.random.default_rng(count).integers(0, len(storage), count).tolist()
    found = storage.read(rows, ["square", "text"])
    squares, texts = expected(rows)
    assert isinstance(found["square"], np.ndarray)
    assert found["square"].tolist() == squares
    assert list(found["text"]) == texts


@pytest.mark.parametrize("rows", [[47, 0, 46, 1, 45], list(range(48))[::-1]])
def test_each_chunk_is_visited_once(rows: list[int]) -> None:
    storage = Squares()
    storage.read(rows, ["square"])
    assert sorted(storage.visits) == sorted(set(storage.visits))
    assert 1 not in storage.visits  # it has no rows


def test_no_rows_are_no_values_of_the_same_kind() -> None:
    found = Squares().read([], ["square"])["square"]
    assert isinstance(found, np.ndarray)
    assert found.size == 0
