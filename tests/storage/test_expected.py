"""Rows that were announced are read before they are asked for."""

import threading
from queue import SimpleQueue

import numpy as np
import pytest

from joader.storage import Arrays
from joader.storage.expected import MOST, Expected


class Far(Arrays):
    """An array that is read when `together` rows are, and notes which rows were."""

    slow = True

    def __init__(self, together: int = 1) -> None:
        super().__init__(np.arange(100))
        self.read_rows: list[int] = []
        self.all_there = threading.Barrier(together)

    def fetch(self, rows, columns):  # type: ignore[no-untyped-def]
        self.read_rows.append(int(rows[0]))
        self.all_there.wait(20)  # raises if they never are
        if rows[0] == 13:
            raise OSError("row 13")
        return super().fetch(rows, columns)


def test_announced_rows_are_read_together_and_once() -> None:
    storage = Far(together=4)
    for row in (5, 3, 8, 3, 9):
        storage.expect(row)
    assert [storage[row] for row in (5, 3, 8, 9)] == [5, 3, 8, 9]
    assert sorted(storage.read_rows) == [3, 5, 8, 9]
    storage.close()


def test_a_row_that_was_asked_for_is_read_again() -> None:
    storage = Far()
    storage.expect(3)
    assert [storage[3], storage[3]] == [3, 3]
    assert storage.read_rows == [3, 3]
    storage.close()


def test_an_error_comes_when_the_row_is_asked_for() -> None:
    storage = Far()
    storage.expect(13)
    assert storage[4] == 4
    with pytest.raises(OSError, match="row 13"):
        storage[13]
    storage.close()


def test_rows_that_nobody_asks_for_are_dropped() -> None:
    expected = Expected()
    gate = threading.Event()
    for row in range(MOST + 10):
        expected.begin(row, lambda row: gate.wait(10) and row)
    gate.set()
    assert expected.take(3) is None
    last = expected.take(MOST + 9)
    assert last is not None
    assert last.result(10) == MOST + 9
    expected.close()


def test_fast_storages_do_not_read_ahead() -> None:
    storage = Far()
    storage.slow = False
    storage.expect(5)
    assert storage[5] == 5
    assert storage.read_rows == [5]


def test_no_more_reads_are_under_way_than_may_be() -> None:
    expected, gate = Expected(), threading.Event()
    begun: SimpleQueue[int] = SimpleQueue()

    def read(row: int) -> int:
        begun.put(row)
        assert gate.wait(20)
        return row

    expected.limit(2)
    for row in range(6):
        expected.begin(row, read)
    assert {begun.get(timeout=20), begun.get(timeout=20)} == {0, 1}
    last = expected.take(5)  # somebody waits for it
    assert last is not None
    assert begun.get(timeout=20) == 5
    assert begun.empty()
    gate.set()
    answers = [expected.take(row) for row in range(5)]
    assert [answer.result(20) for answer in answers if answer] == [0, 1, 2, 3, 4]
    assert last.result(20) == 5
    expected.close()


def test_more_reads_begin_when_more_may() -> None:
    expected, gate = Expected(), threading.Event()
    begun = threading.Semaphore(0)

    def read(row: int) -> int:
        begun.release()
        assert gate.wait(20)
        return row

    expected.limit(1)
    for row in range(4):
        expected.begin(row, read)
    expected.limit(4)
    assert all(begun.acquire(timeout=20) for _ in range(4))
    gate.set()
    expected.close()
