"""Rows as a caller passes them in, checked once on entry.

A row is an integer in [0, 2**32); a dataset is a one-dimensional array of distinct rows, in any
order. Inside this package rows are uint32; a caller gets int64 back.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from joader.errors import BadRows

Rows = NDArray[np.uint32]

ROW_LIMIT = 1 << 32
NO_ROWS: Rows = np.empty(0, np.uint32)
# A bitmap from the lowest to the highest row is the fastest set. With up to eight places per row it
# takes at most one byte per row packed, and eight while it is open; sparser rows are kept as a
# sorted array of four bytes each.
SPARSE = 8
_EIGHT = np.arange(8, dtype=np.uint32)


def checked_rows(rows: ArrayLike) -> Rows:
    """Return the rows in their order as a new uint32 array, or raise BadRows."""
    array = _in_range(rows)
    RowSet(array)
    return array.astype(np.uint32)


class RowSet:
    """A fixed set of rows: a packed bitmap if they are dense, a sorted array if not."""

    def __init__(self, rows: ArrayLike) -> None:
        """Check the rows and keep them, or raise BadRows with the first offender."""
        array = _in_range(rows)
        self.size = array.size
        self.low = int(array.min()) if array.size else 0
        self.span = int(array.max()) - self.low + 1 if array.size else 0
        self.dense = 0 < self.span <= SPARSE * array.size
        if self.dense:
            marks = np.zeros(self.span, np.bool_)
            marks[array - array.dtype.type(self.low) if self.low else array] = True
            if np.count_nonzero(marks) != array.size:
                raise _repeated(np.sort(array))
            self.kept: NDArray[np.uint8] | Rows = np.packbits(marks)
        else:
            self.kept = np.sort(array).astype(np.uint32)
            if np.any(self.kept[1:] == self.kept[:-1]):
                raise _repeated(self.kept)

    def __eq__(self, other: object) -> bool:
        """Return whether two sets have the same rows."""
        return (
            isinstance(other, RowSet)
            and (self.size, self.low, self.span) == (other.size, other.low, other.span)
            and np.array_equal(self.kept, other.kept)
        )

    __hash__ = None  # type: ignore[assignment]

    def rows(self) -> Rows:
        """Return the rows, ascending."""
        if self.span == self.size:
            return np.arange(self.low, self.low + self.span, dtype=np.uint32)
        return OpenSet(self).without(NO_ROWS)

    def some(self, count: int) -> Rows:
        """Return about `count` of the rows, from all over, at little cost."""
        if not self.dense:
            return self.kept[:: -(-self.size // count) or 1].astype(np.uint32)
        step = max(1, self.size // count)
        places = np.arange(0, self.kept.size, step, dtype=np.uint32)
        bits = np.unpackbits(self.kept[places].view(np.uint8)).view(np.bool_)
        rows = np.repeat(places * np.uint32(8), 8) + np.tile(_EIGHT, places.size)
        return rows[bits] + np.uint32(self.low)


class OpenSet:
    """A set of rows unpacked for lookups; takes a byte per place while it is open."""

    def __init__(self, rows: RowSet) -> None:
        self.size = rows.size
        self._low = rows.low
        self._sorted = rows.kept
        self._marks: NDArray[np.bool_] | None = None
        if rows.dense:
            self._marks = np.unpackbits(rows.kept.view(np.uint8), count=rows.span).view(np.bool_)

    def contains(self, rows: Rows) -> NDArray[np.bool_]:
        """Return for each row whether it is in the set."""
        if self.size == 0:
            return np.zeros(rows.size, np.bool_)
        if self._marks is not None:
            place = rows - np.uint32(self._low)  # rows below wrap around to places past the end
            # "clip" reads the last entry for places past the end; the comparison takes that back.
            inside = np.take(self._marks, place, mode="clip")
            if rows.size and int(place.max()) >= self._marks.size:
                inside &= place < self._marks.size
            return inside
        place = np.minimum(np.searchsorted(self._sorted, rows), self.size - 1)
        return np.asarray(self._sorted[place] == rows)

    def without(self, rows: Rows) -> Rows:
        """Return the set, ascending, except for these rows, which are in it."""
        if self._marks is not None:
            marks = self._marks.copy()
            marks[rows - np.uint32(self._low)] = False
            return np.flatnonzero(marks).astype(np.uint32) + np.uint32(self._low)
        keep = np.ones(self.size, np.bool_)
        keep[np.searchsorted(self._sorted, rows)] = False
        return self._sorted[keep].astype(np.uint32)


def _in_range(rows: ArrayLike) -> NDArray[np.integer]:
    try:
        array = np.asarray(rows)
    except ValueError as error:
        raise BadRows("rows must be a flat sequence of integers, not a ragged one") from error
    if array.ndim != 1:
        what = type(rows).__name__ if array.ndim == 0 else f"an array of shape {array.shape}"
        raise BadRows(f"rows must be a one-dimensional array of integers, got {what}")
    if array.size == 0:
        return NO_ROWS
    if array.dtype.kind == "O" and all(isinstance(row, int) for row in array):
        raise BadRows("rows are out of range: rows are integers in [0, 2**32)")
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
