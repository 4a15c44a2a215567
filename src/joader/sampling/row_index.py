"""Numbers for the rows of a group of jobs, so that what is known of a row is one entry of an array.

Rows that lie close together are numbered by themselves: row - base. Scattered ones are numbered in
the order in which they came. A number never changes while the group lives: the orders of running
generations are made of numbers, and rows that come later must not move those that are there.
"""

import numpy as np
from numpy.typing import NDArray

from joader.sampling.rows import NO_ROWS, OpenSet, Rows, RowSet

# What is kept per number is one byte per job, so at most this many bytes per row of the group.
NUMBERS_PER_ROW = 4


class RowIndex:
    """Numbers of rows, and rows of numbers."""

    def __init__(self, rows: RowSet) -> None:
        """Number these rows."""
        end = rows.low + rows.span
        # From 0 if that wastes little: rows below the first set may come later.
        self._base = 0 if end <= NUMBERS_PER_ROW * rows.size else rows.low
        self._dense = end - self._base <= NUMBERS_PER_ROW * rows.size
        self.span = end - self._base if self._dense else 0
        self._count = rows.size
        self._sorted: Rows = NO_ROWS  # scattered rows, ascending, and their numbers
        self._numbers: Rows = NO_ROWS
        self._by_number: Rows = NO_ROWS
        if not self._dense:
            self._append(rows.rows())

    def fits(self, rows: RowSet) -> bool:
        """Return whether these rows can be numbered without wasting memory."""
        if not self._dense or not rows.size:
            return True
        room = NUMBERS_PER_ROW * (self._count + rows.size)
        return rows.low >= self._base and rows.low + rows.span - self._base <= room

    def grow(self, rows: RowSet) -> None:
        """Number those of these rows that have no number."""
        if self._dense:
            if rows.size:
                self.span = max(self.span, rows.low + rows.span - self._base)
                self._count = max(self._count, rows.size)
        else:
            mine = rows.rows()
            self._append(mine[~OpenSet(RowSet(self._sorted)).contains(mine)])

    def numbers(self, rows: RowSet) -> Rows:
        """Return the numbers of a set of rows that have them all."""
        return self.find(rows.rows())

    def find(self, rows: Rows) -> Rows:
        """Return the numbers of rows that have one."""
        if self._dense:
            return rows - np.uint32(self._base) if self._base else rows
        return self._numbers[np.searchsorted(self._sorted, rows)]

    def find_one(self, row: int) -> int | None:
        """Return the number of a row, if it has one."""
        if self._dense:
            return row - self._base if self._base <= row < self._base + self.span else None
        place = int(np.searchsorted(self._sorted, row))
        found = place < self._sorted.size and self._sorted[place] == row
        return int(self._numbers[place]) if found else None

    def has(self, rows: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Return for each row whether it has a number."""
        if self._dense:
            return (rows >= self._base) & (rows < self._base + self.span)
        if not self._sorted.size:
            return np.zeros(rows.size, np.bool_)
        place = np.minimum(np.searchsorted(self._sorted, rows), self._sorted.size - 1)
        return np.asarray(self._sorted[place] == rows)

    def rows(self, numbers: Rows) -> NDArray[np.int64]:
        """Return the rows with these numbers."""
        if not self._dense:
            return self._by_number[numbers].astype(np.int64)
        rows = numbers.astype(np.int64)
        if self._base:
            rows += self._base
        return rows

    def _append(self, rows: Rows) -> None:
        self._by_number = np.concatenate([self._by_number, rows])
        order = np.argsort(self._by_number, kind="stable")
        self._sorted, self._numbers = self._by_number[order], order.astype(np.uint32)
        self.span = self._by_number.size
