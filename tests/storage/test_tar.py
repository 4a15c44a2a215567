"""Tar shards in WebDataset's layout."""

import io
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from joader.errors import BadData, NoData, ReadFailed
from joader.storage import Values, open_storage
from tests.storage.contract import ROWS, StorageContract, body


def write_tar(path: Path, members: dict[str, bytes], form: int = tarfile.USTAR_FORMAT) -> None:
    with tarfile.open(path, "w", format=form) as tar:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))


def sample(row: int) -> dict[str, bytes]:
    return {f"s/{row:05}.cls": b"%d" % (row % 7), f"s/{row:05}.jpg": body(row)}


def members(rows: range) -> dict[str, bytes]:
    return {name: data for row in rows for name, data in sample(row).items()}


class TestTarShards(StorageContract):
    def write(self, folder: Path) -> Any:
        write_tar(folder / "a-000.tar", members(range(25)))
        write_tar(folder / "a-001.tar", members(range(25, ROWS)), tarfile.PAX_FORMAT)
        return str(folder / "a-{000..001}.tar")

    def change(self, folder: Path) -> Any:
        write_tar(folder / "a-001.tar", members(range(25, ROWS + 40)))
        return str(folder / "a-*.tar")

    def expected(self) -> dict[str, Values]:
        return {
            "jpg": list(map(body, range(ROWS))),
            "cls": np.arange(ROWS) % 7,
            "__key__": [f"s/{row:05}" for row in range(ROWS)],
        }

    def sample_columns(self) -> list[str]:
        return ["jpg", "cls"]

    def refused(self, folder: Path) -> list[Any]:
        write_tar(folder / "empty.tar", {})
        write_tar(folder / "odd.tar", {"README": b"", "__meta__.json": b"", ".hidden": b""})
        names = ("empty.tar", "odd.tar", "nowhere.tar", "b-*.tar", "b-{0..3}.tar")
        return [str(folder / name) for name in names]


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOADER_CACHE", str(tmp_path / "cache"))


def test_a_member_that_a_row_does_not_have_is_none(tmp_path: Path) -> None:
    write_tar(tmp_path / "a.tar", {"1.jpg": b"a", "1.cls": b"3", "2.jpg": b"b", "3.json": b"{}"})
    storage = open_storage(tmp_path / "a.tar", columns=["jpg", "cls", "json"])
    assert list(storage) == [(b"a", 3, None), (b"b", None, None), (None, None, b"{}")]


def test_a_class_that_is_no_number_is_named(tmp_path: Path) -> None:
    write_tar(tmp_path / "a.tar", {"1.jpg": b"a", "1.cls": b"cat"})
    with pytest.raises(BadData, match=r"1\.cls holds b'cat'; a class must be an integer"):
        open_storage(tmp_path / "a.tar")[0]


def test_a_tar_that_shrank_after_it_was_opened_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    write_tar(path, {"1.jpg": bytes(9000)})
    storage = open_storage(path)
    path.write_bytes(path.read_bytes()[:4000])
    with pytest.raises(ReadFailed, match="was truncated or rewritten after it was opened"):
        storage[0]


def test_more_shards_than_are_kept_open_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("joader.storage.local_files.MAX_OPEN", 3)
    for row in range(8):
        write_tar(tmp_path / f"a-{row}.tar", sample(row))
    storage = open_storage(tmp_path)
    for _ in range(2):
        assert storage.read([7, 0, 4, 2, 6], ["cls"])["cls"].tolist() == [0, 0, 4, 2, 6]  # type: ignore[union-attr]


def test_a_folder_without_tars_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NoData, match=r"no files that end in \.tar"):
        open_storage(tmp_path, kind="tar")
