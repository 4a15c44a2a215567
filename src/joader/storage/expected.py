"""Announced samples: their reads are under way before they are asked for.

A worker knows the next few rows it will prepare. If reads wait for a network, it begins several of
them at once, `at_once` at most, and prepares one while the others arrive. The rest begin in order,
each when one before it has come. A read that was announced and never asked for is dropped once MOST
others have been announced after it.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

MOST = 64


class Expected:
    """The reads of announced rows, begun and waiting."""

    def __init__(self) -> None:
        """Begin nothing yet."""
        self._reads: OrderedDict[int, Future[Any]] = OrderedDict()
        # Those of them that have not begun, with how to read them.
        self._waiting: OrderedDict[int, Callable[[int], Any]] = OrderedDict()
        self._under_way = 0
        self._at_once = MOST
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(MOST, "joader-expected")

    def limit(self, at_once: int) -> None:
        """Keep up to `at_once` reads under way from now on."""
        with self._lock:
            self._at_once = at_once
            self._begin_waiting()

    def begin(self, row: int, read: Callable[[int], Any]) -> None:
        """Begin to read a row, unless that has already begun."""
        with self._lock:
            if row in self._reads:
                return
            if len(self._reads) >= MOST:
                dropped, answer = self._reads.popitem(last=False)
                self._waiting.pop(dropped, None)
                answer.cancel()
            self._reads[row] = Future()
            self._waiting[row] = read
            self._begin_waiting()

    def take(self, row: int) -> Future[Any] | None:
        """Return the read of an announced row, and forget it: the next caller reads again.

        A read that has not begun does so now, because a caller waits for it.
        """
        with self._lock:
            answer = self._reads.get(row)
            if answer is not None:
                read = self._waiting.pop(row, None)
                if read is not None:
                    self._submit(row, read)
                del self._reads[row]
            return answer

    def close(self) -> None:
        """End the threads when their reads have ended."""
        with self._lock:
            self._waiting.clear()
            for answer in self._reads.values():
                answer.cancel()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _begin_waiting(self) -> None:
        while self._waiting and self._under_way < self._at_once:
            self._submit(*self._waiting.popitem(last=False))

    def _submit(self, row: int, read: Callable[[int], Any]) -> None:
        answer = self._reads[row]
        if answer.set_running_or_notify_cancel():
            self._under_way += 1
            self._pool.submit(self._read, answer, row, read)

    def _read(self, answer: Future[Any], row: int, read: Callable[[int], Any]) -> None:
        try:
            value = read(row)
        except BaseException as error:  # it is raised where the row is asked for
            answer.set_exception(error)
        else:
            answer.set_result(value)
        with self._lock:
            self._under_way -= 1
            if self._waiting:
                self._begin_waiting()
