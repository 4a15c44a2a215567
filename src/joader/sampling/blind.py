"""Rows in a random order of their own, for draws that must not look at a generation.

Also the bytes in which a pass keeps what it knows of each row: `Marks`, one per number of a group.
"""

import numpy as np
from numpy.typing import NDArray

from joader.sampling.rows import Rows

Marks = NDArray[np.uint8]
# What a byte says of a row: it has to be read in this pass; it is drawn blind; the job has it.
UNREAD, KNOWN, OWN = np.uint8(1), np.uint8(2), np.uint8(4)
FREE = UNREAD | OWN  # to be read as it comes
READ = KNOWN | OWN  # read since the pass began to follow: known from now on


class Blind:
    """Rows that are read from the front of a random order."""

    def __init__(self, order: Rows) -> None:
        """Take rows in an order that was shuffled for them."""
        self.order = order
        self.at = 0

    @property
    def left(self) -> int:
        """How many have not been taken."""
        return int(self.order.size) - self.at

    def take(self, count: int, marks: Marks | None) -> Rows:
        """Return the next ones; with marks, those that are still to be read as they come."""
        if marks is None:
            self.at += count
            return self.order[self.at - count : self.at]
        parts: list[Rows] = [self.order[:0]]
        while count:
            there = self.order[self.at : self.at + 2 * count]
            found = np.flatnonzero(marks[there] == FREE)[:count]
            self.at += int(found[-1]) + 1 if found.size == count else there.size
            parts.append(there[found])
            count -= found.size
        return np.concatenate(parts)
