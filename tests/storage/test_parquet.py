"""Parquet files, Arrow files, and Hugging Face datasets, saved and open."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from joader.errors import BadArgument, BadData
from joader.storage import ParquetFiles, Storage, Values, open_storage
from tests.storage.contract import ROWS, SCATTERED, StorageContract, body

pa = pytest.importorskip("pyarrow", reason="Parquet and Arrow need pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

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


class TestArrowFile(ArrowContract):
    def write(self, folder: Path) -> Any:
        self.write_file(folder / "a.arrow", 0, 27, pa.ipc.new_file)
        self.write_file(folder / "b.arrow", 27, ROWS, pa.ipc.new_stream)
        return [folder / "a.arrow", folder / "b.arrow"]

    def write_file(self, path: Path, first: int, last: int, kind: Any) -> None:
        rows = table(first, last)
        with pa.OSFile(str(path), "wb") as file, kind(file, rows.schema) as out:
            out.write_table(rows, max_chunksize=6)

    def change(self, folder: Path) -> Any:
        self.write_file(folder / "b.arrow", 20, ROWS, pa.ipc.new_stream)
        return [folder / "a.arrow", folder / "b.arrow"]

    def refused(self, folder: Path) -> list[Any]:
        self.write_file(folder / "a.arrow", 0, 0, pa.ipc.new_file)
        return [folder / "a.arrow", folder / "b.arrow", [folder / "nowhere.arrow"]]


class HuggingFaceContract(ArrowContract):
    @pytest.fixture(autouse=True)
    def _datasets(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
        self.datasets = pytest.importorskip(
            "datasets", reason="saving Hugging Face datasets needs datasets"
        )
        self.datasets.disable_progress_bars()

    def expected(self) -> dict[str, Values]:
        # The library has no dictionaries.
        return {name: one for name, one in super().expected().items() if name != "class"}

    def saved(self, folder: Path, rows: int = 100) -> Any:
        repeated = pa.concat_tables([table()] * 3).drop_columns(["class"]).slice(0, rows)
        self.datasets.Dataset(repeated).save_to_disk(str(folder), num_shards=3)
        return self.datasets.load_from_disk(str(folder))

    def test_columns_have_the_types_of_their_values(self, storage: Storage) -> None:
        assert storage.columns["image"] == storage.columns["photo"] == "bytes"


class TestSavedDataset(HuggingFaceContract):
    def write(self, folder: Path) -> Any:
        self.saved(folder, ROWS)
        return str(folder)

    def change(self, folder: Path) -> Any:
        (folder / "state.json").unlink()
        self.saved(folder, 70)
        return str(folder)

    def test_rows_that_were_selected_before_saving_are_those_saved(self, folder: Path) -> None:
        chosen = self.saved(folder / "all").select([41, 5, 3]).shuffle(seed=1)
        chosen.save_to_disk(str(folder / "few"))
        found = open_storage(folder / "few").read([0, 1, 2], ["name"])["name"]
        assert found == chosen["name"][:]

    def test_a_folder_of_splits_names_them(self, folder: Path) -> None:
        splits = self.datasets.DatasetDict({"train": self.saved(folder / "x")})
        splits.save_to_disk(str(folder / "all"))
        with pytest.raises(BadArgument, match=r"open one of them: .*all/train"):
            open_storage(folder / "all")

    def test_a_damaged_state_is_refused(self, folder: Path) -> None:
        self.write(folder)
        (folder / "state.json").write_text("{}")
        with pytest.raises(BadData, match="save_to_disk"):
            open_storage(folder)


class TestOpenDataset(HuggingFaceContract):
    """An open dataset whose rows were selected, in an order of their own."""

    def write(self, folder: Path) -> Any:
        order = np.random.default_rng(0).permutation(ROWS)
        back = np.argsort(order)
        return self.saved(folder).select(order).select(back)

    def change(self, folder: Path) -> Any:
        return self.datasets.load_from_disk(str(folder)).select(range(ROWS)[::-1])

    def test_a_missing_package_is_named(self, folder: Any, monkeypatch: Any) -> None:
        """Cannot be: the dataset is there."""

    def test_a_format_is_refused_as_it_would_not_be_applied(self, folder: Path) -> None:
        with pytest.raises(BadArgument, match=r"has the format 'numpy'.*with_format\(None\)"):
            open_storage(self.saved(folder).with_format("numpy"))

    def test_a_dataset_in_memory_is_read_too(self) -> None:
        dataset = self.datasets.Dataset.from_dict({"a": [1, 2, 3]}).select([2, 0])
        assert list(open_storage(dataset)) == [3, 1]


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
