"""LMDB environments.

No process is forked while a thread is inside a library that a fork would break.
"""

import os
import threading
from pathlib import Path
from typing import Any

import pytest

from joader.errors import BadData, ReadFailed
from joader.storage import Values, open_storage
from joader.storage.lmdb import ForkGate
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


WAIT_S = 60.0


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")  # from Python 3.12 on
def test_a_fork_waits_for_the_thread_that_is_inside() -> None:
    gate = ForkGate()
    inside, forking, forked = threading.Event(), threading.Event(), threading.Event()
    may_leave = threading.Event()
    was_forked: list[bool] = []

    def read() -> None:
        with gate:
            inside.set()
            assert may_leave.wait(WAIT_S)
            was_forked.append(forked.is_set())

    reader = threading.Thread(target=read)
    reader.start()
    assert inside.wait(WAIT_S)

    def leave_once_it_waits() -> None:
        assert forking.wait(WAIT_S)
        # Shut, the gate waits with its condition: somebody is in the list of those who wait.
        while not (gate._change._waiters or forked.is_set()):  # type: ignore[attr-defined]
            pass
        may_leave.set()

    helper = threading.Thread(target=leave_once_it_waits)
    helper.start()
    forking.set()
    child = os.fork()
    if child == 0:
        # Nobody is inside here, and the gate is open.
        with gate:
            os._exit(7)
    forked.set()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    for thread in (reader, helper):
        thread.join(WAIT_S)
    assert was_forked == [False]


def test_several_threads_may_be_inside_at_a_time() -> None:
    gate, together = ForkGate(), threading.Barrier(2)

    def read() -> None:
        with gate:
            together.wait(WAIT_S)

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_S)
    assert not together.broken
    assert gate._inside == 0
