"""Lists of files."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from joader.errors import BadArgument, ReadFailed
from joader.storage import FileList, Storage, Values, open_storage
from tests.storage.contract import ROWS, StorageContract, body

NAMES = [f"b/{row:03}.bin" for row in range(ROWS // 2)] + [
    f"{row:03} ä.bin" for row in range(ROWS // 2, ROWS)
]


def write(folder: Path, names: list[str]) -> None:
    for row, name in enumerate(names):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body(row))


class TestFileList(StorageContract):
    def write(self, folder: Path) -> Any:
        write(folder, NAMES)
        return [folder / name for name in NAMES]

    def change(self, folder: Path) -> Any:
        (folder / NAMES[3]).write_bytes(b"longer than before" * 10)
        return [folder / name for name in NAMES]

    def expected(self) -> dict[str, Values]:
        return {"image": list(map(body, range(ROWS))), "path": self.paths}

    def sample_columns(self) -> list[str]:
        return ["image"]

    @pytest.fixture(autouse=True)
    def _where(self, folder: Path) -> None:
        self.paths: Values = [str(folder / name) for name in NAMES]

    def refused(self, folder: Path) -> list[Any]:
        return [str(folder / "nowhere"), str(folder), str(folder / "*.jpg")]


class TestListWithLabels(TestFileList):
    def open(self, what: Any, **options: Any) -> Storage:
        return open_storage(what, labels=list(range(len(what))), **options)

    def expected(self) -> dict[str, Values]:
        return {**super().expected(), "label": np.arange(ROWS)}

    def sample_columns(self) -> list[str]:
        return ["image", "label"]

    def refused(self, folder: Path) -> list[Any]:
        return []


def test_a_folder_without_subfolders_is_a_list_of_its_files(tmp_path: Path) -> None:
    write(tmp_path, ["2.jpg", "1.jpg"])
    storage = open_storage(tmp_path)
    assert isinstance(storage, FileList)
    assert storage.read([0, 1], ["path"]) == {"path": ["1.jpg", "2.jpg"]}


def test_a_file_that_is_gone_is_named_when_it_is_read(tmp_path: Path) -> None:
    write(tmp_path, ["1.jpg", "2.jpg"])
    storage = open_storage(tmp_path)
    named = storage.fingerprint()
    (tmp_path / "2.jpg").unlink()
    with pytest.raises(ReadFailed, match=r"2\.jpg cannot be read: No such file"):
        storage[1]
    assert storage.fingerprint() != named


def test_a_dangling_link_is_a_row_that_fails_and_no_other_does(tmp_path: Path) -> None:
    write(tmp_path / "imgs", ["1.jpg", "3.jpg"])
    (tmp_path / "imgs" / "2.jpg").symlink_to(tmp_path / "gone.jpg")
    paths = [str(tmp_path / "imgs" / f"{number}.jpg") for number in (1, 2, 3)]
    for storage in (open_storage(tmp_path / "imgs"), open_storage(paths)):
        named = storage.fingerprint()
        assert len(storage) == 3
        assert storage.read([0, 2])["image"] == [storage[0], storage[2]]
        with pytest.raises(ReadFailed, match=r"2\.jpg cannot be read: No such file"):
            storage[1]
        assert (
            open_storage(tmp_path / "imgs").fingerprint()
            == open_storage(tmp_path / "imgs").fingerprint()
        )
        (tmp_path / "gone.jpg").write_bytes(b"back")
        assert storage.fingerprint() != named
        assert storage[1] == b"back"
        (tmp_path / "gone.jpg").unlink()


def test_a_label_for_each_file_is_needed(tmp_path: Path) -> None:
    write(tmp_path, ["1.jpg", "2.jpg"])
    for labels in ([1], [0.5, 0.7]):
        with pytest.raises(BadArgument, match="one integer for each of the 2 files"):
            open_storage([tmp_path / "1.jpg", tmp_path / "2.jpg"], labels=labels)


def test_names_that_are_no_text_are_read_too(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"\xff\xfe.jpg")).write_bytes(b"odd")
    storage = open_storage(tmp_path)
    assert storage[0] == b"odd"
    storage.fingerprint()
