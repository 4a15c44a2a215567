"""Parquet files."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from joader.errors import BadData
from joader.storage import ParquetFiles, Storage, open_storage
from tests.storage.arrow_contract import ArrowContract, table
from tests.storage.contract import ROWS, SCATTERED

pa = pytest.importorskip("pyarrow", reason="Parquet and Arrow need pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


class TestParquet(ArrowContract):
    def write(self, folder: Path) -> Any:
        pq.write_table(table(0, 27), folder / "a.parquet", row_group_size=10)
        pq.write_table(table(27), folder / "b.parquet", row_group_size=4)
        return str(folder)

    def change(self, folder: Path) -> Any:
        pq.write_table(table(27, ROWS - 1), folder / "b.parquet")
        return str(folder)

    def refused(self, folder: Path) -> list[Any]:
        pq.write_table(table(0, 0), folder / "a.parquet")
        return [folder / "a.parquet", folder / "b.parquet", [folder / "nowhere.parquet"]]


class TestParquetWithoutRoom(TestParquet):
    """Every row group is decoded again and again."""

    def open(self, what: Any, **options: Any) -> Storage:
        return open_storage(what, cache_bytes=1, **options)

    def test_a_missing_package_is_named(self, folder: Any, monkeypatch: Any) -> None:
        """Is seen above."""


def test_a_row_group_is_decoded_once_if_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(table(), path, row_group_size=10)
    decoded = []
    read = pq.ParquetFile.read_row_group

    def noted(self: Any, group: int, columns: Any) -> Any:
        decoded.append((group, *columns))
        return read(self, group, columns=columns)

    monkeypatch.setattr(pq.ParquetFile, "read_row_group", noted)
    with open_storage(path, columns=["image"]) as storage:
        for row in SCATTERED * 3:
            storage[row]
        assert sorted(decoded) == [(group, "image") for group in range(4)]
        storage.read(SCATTERED, ["image", "label"])
        assert sorted(decoded[4:]) == [(group, "label") for group in range(4)]
    with ParquetFiles([str(path)], columns=["image"], cache_bytes=2000) as storage:
        decoded.clear()
        storage.read(np.arange(ROWS)[::-1])
        storage.read([39, 38])
        assert [group for group, _ in decoded] == [0, 1, 2, 3]
        storage.read([0])  # the first decoded had to go
        assert [group for group, _ in decoded] == [0, 1, 2, 3, 0]


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
def test_what_is_neither_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"nothing that Arrow reads" * 9)
    with pytest.raises(BadData, match="or is damaged"):
        open_storage(tmp_path / name)


def test_files_with_other_columns_are_refused(tmp_path: Path) -> None:
    pq.write_table(table(0, 3), tmp_path / "a.parquet")
    pq.write_table(table(0, 3).select(["label"]), tmp_path / "b.parquet")
    with pytest.raises(BadData, match=r"b\.parquet has other columns than .*a\.parquet"):
        open_storage(tmp_path)
