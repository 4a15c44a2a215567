"""Many reads at once: begun in the order given, a limited number at a time.

The order given is that of the deadlines: callers ask first for what they need first. So a queue is
enough, and no read overtakes an earlier one. If data comes from memory, threads cost more than they
hide (the GIL changes hands at every read). So reads are done one by one until some have waited for
longer than SLOW_S; the rest then go out together.
"""

import resource
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from joader.errors import BadArgument
from joader.storage.per_process import PerProcess

T = TypeVar("T")
R = TypeVar("R")

# A read from the page cache takes some 10 µs, one from a disk or a network 100 µs to 50 ms. Handing
# a read to a thread and back costs about 20 µs. A read counts as slow only if the system says that
# it waited: on a busy machine fast ones take long too, and more threads would make it worse.
SLOW_S = 0.0005
SLOW_READS = 2


class InFlight:
    """A limit on how many reads are under way at a time."""

    def __init__(self, limit: int, *, at_once: bool = False) -> None:
        """Allow this many; `at_once`: skip the one-by-one phase, because every read is slow."""
        if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
            raise BadArgument(f"in_flight is {limit!r}; it must be an integer of at least 1")
        self.limit = limit
        self._at_once = at_once
        self._pool = PerProcess(partial(ThreadPoolExecutor, limit, "joader-read"))

    def map(self, read: Callable[[T], R], items: Sequence[T]) -> list[R]:
        """Return `read(item)` for each item; the first error cancels what has not begun."""
        if self.limit == 1 or len(items) < 2:
            return [read(item) for item in items]
        done: list[R] = []
        if not self._at_once:
            done = _while_fast(read, items)
        rest = items[len(done) :]
        return done + self._together(read, rest) if rest else done

    def _together(self, read: Callable[[T], R], items: Iterable[T]) -> list[R]:
        pool = self._pool.get()
        reads = [pool.submit(read, item) for item in items]
        try:
            return [one.result() for one in reads]
        finally:
            for one in reads:
                one.cancel()

    def close(self) -> None:
        """End the threads; they start again when needed."""
        pool = self._pool.take()
        if pool is not None:
            pool.shutdown(wait=False, cancel_futures=True)


def _while_fast(read: Callable[[T], R], items: Iterable[T]) -> list[R]:
    done: list[R] = []
    slow = 0
    waits = _waits()
    before = time.perf_counter()
    for item in items:
        done.append(read(item))
        now = time.perf_counter()
        if now - before > SLOW_S:
            slow, waits = slow + (_waits() > waits), _waits()
            if slow == SLOW_READS:
                break
        before = now
    return done


def _waits() -> int:
    """Return how often this thread has waited for anything other than its turn on a core."""
    return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
