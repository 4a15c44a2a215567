"""Rows as a caller hands them over, checked once at the door.

A row is an integer in [0, 2**32); a dataset is a one-dimensional array of distinct rows, in any
order. Inside the room rows are uint32, and a caller gets int64 back.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from joader.errors import BadRows

Rows = NDArray[np.uint32]

ROW_LIMIT = 1 << 32
NO_ROWS: Rows = np.empty(0, np.uint32)
# A bitmap over the range of the rows is the fastest set there is, as long as it is not mostly
# empty. At 64 it takes up to 8 bytes a row when packed, twice a sorted array, and is still faster.
SPARSE = 64


def checked_rows(rows: ArrayLike) -> Rows:
    """Return the rows in their order as a new uint32 array, or raise BadRows."""
    array = _in_range(rows)
    RowSet(array)
    return array.astype(np.uint32)


class RowSet:
    """A fixed set of rows: a packed bitmap where they are dense, a sorted array where not."""

    def __init__(self, rows: ArrayLike) -> None:
        """Check the rows and keep them, or raise BadRows with the first offender."""
        array = _in_range(rows)
        self.size = array.size
        self._packed: NDArray[np.uint8] | None = None
        self._sorted = NO_ROWS
        self._range = int(array.max()) + 1 if array.size else 0
        if 0 < self._range <= SPARSE * array.size:
            marks = np.zeros(self._range, np.bool_)
            marks[array] = True
            if np.count_nonzero(marks) != array.size:
                raise _repeated(np.sort(array))
            self._packed = np.packbits(marks)
        else:
            self._sorted = np.sort(array).astype(np.uint32)
            if np.any(self._sorted[1:] == self._sorted[:-1]):
                raise _repeated(self._sorted)

    def rows(self) -> Rows:
        """Return the rows, ascending."""
        if self._packed is None:
            return self._sorted
        return np.flatnonzero(self._marks()).astype(np.uint32)

    def contains(self, rows: Rows) -> NDArray[np.bool_]:
        """Tell for each row whether it is in the set."""
        if self._packed is not None:
            # "clip" reads the last entry for rows past the end; the comparison takes that back.
            inside = np.take(self._marks(), rows, mode="clip")
            if rows.size and int(rows.max()) >= self._range:
                inside &= rows < self._range
            return inside
        if self.size == 0:
            return np.zeros(rows.size, np.bool_)
        place = np.minimum(np.searchsorted(self._sorted, rows), self.size - 1)
        return np.asarray(self._sorted[place] == rows)

    def without(self, rows: Rows) -> Rows:
        """Return the set, ascending, except for these rows, which are in it."""
        if self._packed is not None:
            marks = self._marks()
            marks[rows] = False
            return np.flatnonzero(marks).astype(np.uint32)
        keep = np.ones(self.size, np.bool_)
        keep[np.searchsorted(self._sorted, rows)] = False
        return np.asarray(self._sorted[keep])

    def _marks(self) -> NDArray[np.bool_]:
        assert self._packed is not None
        return np.unpackbits(self._packed, count=self._range).view(np.bool_)


def _in_range(rows: ArrayLike) -> NDArray[np.integer]:
    array = np.asarray(rows)
    if array.ndim != 1:
        raise BadRows(f"rows must be one-dimensional, got shape {array.shape}")
    if array.size == 0:
        return NO_ROWS
    if array.dtype.kind not in "iu":
        raise BadRows(f"rows must be integers, got dtype {array.dtype}; use rows.astype('int64')")
    low, high = int(array.min()), int(array.max())
    if low < 0 or high >= ROW_LIMIT:
        offender = low if low < 0 else high
        raise BadRows(f"row {offender} is out of range: rows are integers in [0, 2**32)")
    return array


def _repeated(ordered: NDArray[np.integer]) -> BadRows:
    twice = int(ordered[1:][ordered[1:] == ordered[:-1]][0])
    return BadRows(
        f"row {twice} occurs more than once; a pass reads a row once, so make them distinct"
    )
