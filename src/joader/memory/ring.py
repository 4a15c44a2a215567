"""Output buffers that return by themselves: warm memory for the next batch.

A batch in newly mapped memory is slow to fill (13 to 16 times, because of page faults), so buffers
are reused. A buffer is *lent* from `lend` until nothing refers to it: no array, slice, tensor or
memoryview; then it is *idle*, kept here for the next `lend` of its size, and *freed* when more than
`keep_bytes` are idle.

Invariant: a buffer is lent to at most one batch at a time. Each lending has an object of its own,
the `_Loan`, which is the base of the array that is lent. NumPy passes the base on from view to
view, torch and memoryview hold the array; the finalizer of the loan returns the buffer. (A
finalizer on the lent array itself would be wrong if it were a view of the buffer: NumPy makes the
buffer the base of its views, and the array may be gone before them.)
There is no lock. A finalizer can run anywhere, even inside `lend`, and only appends to a deque.
No back-pressure: `lend` never waits. A user who keeps batches keeps their memory, and new buffers
are made; it is the client that limits how many batches are in flight.
"""

import weakref
from collections import deque
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from joader.errors import BadArgument

# malloc takes smaller buffers from its heap, which stays mapped (M_MMAP_THRESHOLD, 128 KiB), so
# reusing them gains nothing.
SMALLEST_BYTES = 128 * 2**10


class Ring:
    """Buffers for batches of one reader, any thread."""

    def __init__(self, keep_bytes: int = 2**29) -> None:
        """Keep up to `keep_bytes` of idle buffers."""
        if keep_bytes < 0:
            raise BadArgument(f"keep_bytes={keep_bytes} is negative; give 0 or more")
        self.keep_bytes = keep_bytes
        self._idle: deque[NDArray[np.uint8]] = deque()  # longest idle first

    def lend(self, size_bytes: int) -> NDArray[np.uint8]:
        """Return a buffer of this size that nothing else refers to, with undefined content."""
        if size_bytes < SMALLEST_BYTES:
            return np.empty(size_bytes, np.uint8)
        room = _room(size_bytes)
        block = self._take(room)
        if block is None:
            block = np.empty(room, np.uint8)
        loan = _Loan(block, size_bytes)
        # Not at exit: there will be no further `lend`.
        weakref.finalize(loan, self._idle.append, block).atexit = False
        return np.asarray(loan)

    def _take(self, room: int) -> NDArray[np.uint8] | None:
        """Take the idle buffer of this size that was used last; free the oldest above the limit."""
        found: NDArray[np.uint8] | None = None
        others: list[NDArray[np.uint8]] = []  # newest first
        # Popped one by one: a finalizer may append meanwhile, which would break an iteration.
        with suppress(IndexError):
            while True:
                block = self._idle.pop()
                if found is None and block.size == room:
                    found = block
                else:
                    others.append(block)
        # Put back newest first, so that the buffers beyond the limit are those idle the longest.
        kept_bytes = 0
        for block in others:
            kept_bytes += block.size
            if kept_bytes > self.keep_bytes:
                break
            self._idle.appendleft(block)
        return found


class _Loan:
    """The base of one lent array, to which all its views refer."""

    __slots__ = ("__array_interface__", "__weakref__", "_block")

    def __init__(self, block: NDArray[np.uint8], size_bytes: int) -> None:
        self._block = block
        self.__array_interface__: dict[str, Any] = {
            "data": (block.ctypes.data, False),
            "shape": (size_bytes,),
            "typestr": "|u1",
            "version": 3,
        }


def _room(size_bytes: int) -> int:
    """Round up by at most an eighth, so that few sizes are in use; the excess is never touched."""
    unit = 1 << max(0, size_bytes.bit_length() - 4)
    return -(-size_bytes // unit) * unit
