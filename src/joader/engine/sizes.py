"""How large samples of one kind are: what to reserve for the next, and what is usual.

A slot is reserved before the sample is made. While the latest samples are of one size, the next is
assumed to have it, too. If they differ, a row that was prepared before is as large as it was; any
other gets no slot before its size is known: a slot that is too large would stay too large.
"""

from collections import deque

import numpy as np

from joader.cache import class_bytes, round_up

RECENT = 16


class Sizes:
    """The sizes of the samples of a recipe, or of a job's own part."""

    def __init__(self, row_limit: int = 0) -> None:
        """Start with no size known; for a recipe, the size of each of its rows is remembered."""
        self._recent: deque[int] = deque(maxlen=RECENT)
        self._total_bytes = 0
        self._count = 0
        self._equal = False  # whether all recent ones are
        self._equal_bytes = -1  # how large they are, before they are rounded up
        self._row_limit = row_limit
        self._units = np.zeros(0, np.uint32)  # by row: of 64 bytes; 0: not known
        self.slot_bytes = 0  # of the next as far as is known; 0 while nothing is

    @property
    def usual_bytes(self) -> int:
        """The mean, as slots are counted; 0 while nothing is known."""
        return -(-self._total_bytes // self._count) if self._count else 0

    @property
    def differ(self) -> bool:
        """Whether the latest samples were of different sizes."""
        return bool(self._count) and not self._equal

    def of(self, row: int) -> int:
        """Return how many bytes to reserve for a row; 0 if that is not known beforehand."""
        if self._equal:
            return self.slot_bytes
        return int(self._units[row]) << 6 if row < self._units.size else 0

    def slot_for(self, size_bytes: int) -> int:
        """Return how large the slot of a sample of this size should be."""
        return class_bytes(size_bytes) if self.differ else round_up(size_bytes)

    def note(self, size_bytes: int, row: int = 0) -> None:
        """Note the size of a sample."""
        # Nearly all calls end here, and there is one call per sample: keep lookups below this line.
        if self._equal and size_bytes == self._equal_bytes:
            self._total_bytes += self.slot_bytes
            self._count += 1
            return
        size = round_up(size_bytes)
        self._equal_bytes = size_bytes
        self._total_bytes += size
        self._count += 1
        if self._equal and size == self.slot_bytes:
            return
        self._recent.append(size)
        largest = max(self._recent)
        self._equal = largest == min(self._recent)
        self.slot_bytes = largest if self._equal else class_bytes(largest)
        if not self._equal and self._row_limit:
            if not self._units.size:
                # In units of 64 bytes, so that 32 bits per row are enough for any sample.
                self._units = np.zeros(self._row_limit, np.uint32)
            self._units[row] = class_bytes(size) >> 6
