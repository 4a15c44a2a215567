"""What all storages that Arrow reads have in common: one table, and what comes out of it."""

from typing import Any

import numpy as np
import pytest

from joader.storage import Storage, Values
from tests.storage.contract import ROWS, StorageContract, body

pa = pytest.importorskip("pyarrow", reason="Parquet and Arrow need pyarrow")


NESTED = [{"a": row, "b": [str(row)] * (row % 3)} for row in range(ROWS)]


def table(first: int = 0, last: int = ROWS) -> Any:
    rows = range(first, last)
    return pa.table(
        {
            "image": pa.array([body(row) for row in rows], pa.binary()),
            "photo": [{"bytes": body(row), "path": f"{row}.jpg"} for row in rows],
            "label": pa.array([row % 7 for row in rows], pa.int32()),
            "name": [f"nämé {row}" for row in rows],
            "class": pa.array([f"c{row % 3}" for row in rows]).dictionary_encode(),
            "score": [row / 8 for row in rows],
            "good": [row % 2 == 0 for row in rows],
            "maybe": [None if row % 4 == 0 else row for row in rows],
            "points": [np.arange(row % 5, dtype=np.int16) for row in rows],
            "box": pa.array([[row, 1.0, 2.0] for row in rows], pa.list_(pa.float32(), 3)),
            "nested": NESTED[first:last],
        }
    )


class ArrowContract(StorageContract):
    package = "pyarrow"
    extra = "parquet"

    def expected(self) -> dict[str, Values]:
        rows = range(ROWS)
        return {
            "image": list(map(body, rows)),
            "photo": list(map(body, rows)),
            "label": np.arange(ROWS, dtype=np.int32) % np.int32(7),
            "name": [f"nämé {row}" for row in rows],
            "class": [f"c{row % 3}" for row in rows],
            "score": np.arange(ROWS) / 8,
            "good": np.arange(ROWS) % 2 == 0,
            "maybe": [None if row % 4 == 0 else np.int64(row) for row in rows],
            "points": [np.arange(row % 5, dtype=np.int16) for row in rows],
            "box": np.array([[row, 1, 2] for row in rows], np.float32),
            "nested": list(NESTED),
        }

    def test_columns_have_the_types_of_their_values(self, storage: Storage) -> None:
        told = ["bytes", "bytes", "int32", "str", "str", "float64", "bool", "int64"]
        assert list(storage.columns.values()) == [*told, None, None, None]
