"""LMDB environments."""

from pathlib import Path
from typing import Any

import pytest

from joader.errors import BadData, ReadFailed
from joader.storage import Values, open_storage
from tests.storage.contract import ROWS, StorageContract, body

lmdb = pytest.importorskip("lmdb", reason="LMDB needs lmdb")


def write(path: Path, rows: range, *, subdir: bool = True) -> None:
    environment = lmdb.open(str(path), subdir=subdir, map_size=1 << 24)
    with environment, environment.begin(write=True) as transaction:
        for row in rows:
            transaction.put(b"%04d" % row, body(row))


class TestLmdb(StorageContract):
    package = "lmdb"
    extra = "lmdb"

    def write(self, folder: Path) -> Any:
        write(folder / "db", range(ROWS))
        return folder / "db"

    def change(self, folder: Path) -> Any:
        write(folder / "db", range(ROWS + 1))
        return folder / "db"

    def expected(self) -> dict[str, Values]:
        keys = [b"%04d" % row for row in range(ROWS)]
        return {"value": list(map(body, range(ROWS))), "key": keys}

    def sample_columns(self) -> list[str]:
        return ["value"]

    def refused(self, folder: Path) -> list[Any]:
        write(folder / "empty", range(0))
        return [folder / "empty", folder / "nowhere", folder / "nowhere.lmdb"]


class TestLmdbInOneFile(TestLmdb):
    def write(self, folder: Path) -> Any:
        write(folder / "db.lmdb", range(ROWS), subdir=False)
        return folder / "db.lmdb"

    def change(self, folder: Path) -> Any:
        write(folder / "db.lmdb", range(1, 3), subdir=False)
        return folder / "db.lmdb"


def test_keys_can_be_named(tmp_path: Path) -> None:
    write(tmp_path / "db", range(9))
    storage = open_storage(tmp_path / "db", keys=[b"0007", b"0002"], columns=["key", "value"])
    assert list(storage) == [(b"0007", body(7)), (b"0002", body(2))]
    storage.close()
    storage = open_storage(tmp_path / "db", keys=[b"0007", b"none"])
    with pytest.raises(ReadFailed, match="has no key b'none'"):
        storage[1]


def test_what_is_no_environment_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.lmdb").write_bytes(b"nothing" * 5000)
    with pytest.raises(BadData, match="not an LMDB environment, or is damaged"):
        open_storage(tmp_path / "a.lmdb")
