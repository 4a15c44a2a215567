"""Rows as a caller hands them over, checked once at the door.

A row is an integer in [0, 2**32); a dataset is a one-dimensional array of distinct rows, in any order. Inside the
room rows are uint32, and a caller gets int64 back.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from joader.errors import BadRows

Rows = NDArray[np.uint32]

ROW_LIMIT = 1 << 32
# A bitmap over the range of the rows is the fastest set there is, as long as it is not mostly empty: 64 keeps it
# below 8 bytes a row when packed and below 64 when it is one byte a row.
SPARSE = 64


def checked_rows(rows: ArrayLike) -> Rows:
    """Return the rows as a new uint32 array, or raise BadRows with the first offender."""
    array = np.asarray(rows)
    if array.ndim != 1:
        raise BadRows(f"rows must be one-dimensional, got shape {array.shape}")
    if array.size == 0:
        return np.empty(0, np.uint32)
    if array.dtype.kind not in "iu":
        raise BadRows(f"rows must be integers, got dtype {array.dtype}; use rows.astype('int64')")
    low, high = int(array.min()), int(array.max())
    if low < 0 or high >= ROW_LIMIT:
        offender = low if low < 0 else high
        raise BadRows(f"row {offender} is out of range: rows are integers in [0, 2**32)")
    checked = array.astype(np.uint32)
    if _has_duplicates(checked, high):
        ordered = np.sort(checked)
        twice = int(ordered[1:][ordered[1:] == ordered[:-1]][0])
        raise BadRows(
            f"row {twice} occurs more than once; a pass reads every row once, so rows must be distinct"
        )
    return checked


class Membership:
    """A fixed set of rows: which of some rows are in it, and which are in it besides those.

    A byte map where the rows are dense, a sorted array where they are not.
    """

    def __init__(self, rows: Rows) -> None:
        self.size = rows.size
        self._dense = rows.size > 0 and int(rows.max()) < SPARSE * rows.size
        if self._dense:
            self._map = np.zeros(int(rows.max()) + 1, np.bool_)
            self._map[rows] = True
        else:
            self._sorted = np.sort(rows)

    def contains(self, rows: Rows) -> NDArray[np.bool_]:
        """Tell for each row whether it is in the set."""
        if self._dense:
            # "clip" reads the last entry for rows past the end; the comparison takes that back.
            inside = np.take(self._map, rows, mode="clip")
            if rows.size and int(rows.max()) >= self._map.size:
                inside &= rows < self._map.size
            return inside
        if self._sorted.size == 0:
            return np.zeros(rows.size, np.bool_)
        place = np.minimum(np.searchsorted(self._sorted, rows), self._sorted.size - 1)
        return np.asarray(self._sorted[place] == rows)

    def without(self, rows: Rows) -> Rows:
        """Return the members, ascending, except for these rows, which are members too."""
        if self._dense:
            rest = self._map.copy()
            rest[rows] = False
            return np.flatnonzero(rest).astype(np.uint32)
        keep = np.ones(self._sorted.size, np.bool_)
        keep[np.searchsorted(self._sorted, rows)] = False
        return np.asarray(self._sorted[keep])


def _has_duplicates(rows: Rows, high: int) -> bool:
    if high < SPARSE * rows.size:
        seen = np.zeros(high + 1, np.bool_)
        seen[rows] = True
        return int(np.count_nonzero(seen)) != rows.size
    ordered = np.sort(rows)
    return bool(np.any(ordered[1:] == ordered[:-1]))
