"""Announced samples: their reads are under way before they are asked for.

A worker knows the next few rows it will prepare. If reads wait for a network, it begins all of them
at once and prepares one while the others arrive. A read that was announced and never asked for is
dropped once MOST others have been announced after it.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

MOST = 64


class Expected:
    """Reads of announced rows."""

    def __init__(self) -> None:
        """Begin nothing yet."""
        self._reads: OrderedDict[int, Future[Any]] = OrderedDict()
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(MOST, "joader-expected")

    def begin(self, row: int, read: Callable[[int], Any]) -> None:
        """Begin to read a row, unless that has already begun."""
        with self._lock:
            if row in self._reads:
                return
            if len(self._reads) >= MOST:
                self._reads.popitem(last=False)[1].cancel()
            self._reads[row] = self._pool.submit(read, row)

    def take(self, row: int) -> Future[Any] | None:
        """Return the read of a row, if it has begun, and forget it: the next caller reads again."""
        with self._lock:
            return self._reads.pop(row, None)

    def close(self) -> None:
        """End the threads when their reads have ended."""
        self._pool.shutdown(wait=False, cancel_futures=True)
