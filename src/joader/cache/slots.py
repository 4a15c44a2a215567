"""Which byte ranges are free: best fit at 64-byte multiples, adjacent free ranges always merged.

Invariants: taken and free ranges alternate without gap or overlap over [0, capacity); no two free
ranges touch. So `allocate` succeeds whenever any contiguous free range is large enough. Nothing is
written into the bytes; this is bookkeeping only, and knows nothing of samples. The free ranges are
kept by size, with the distinct sizes sorted: finding, inserting and removing one is a bisection of
that list, which is short even if there are many ranges.
Not here: slots of one size (runs.py), what has to leave so that a range becomes free (eviction/).
"""

from bisect import bisect_left, insort

from joader.cache.classes import UNIT_BYTES, round_up
from joader.errors import BadArgument, SampleTooLarge


class Slots:
    """Byte ranges of one arena, taken or free."""

    def __init__(self, capacity_bytes: int) -> None:
        """Start with one free range; bytes beyond the last multiple of 64 are not used."""
        if capacity_bytes < UNIT_BYTES:
            raise BadArgument(
                f"a capacity of {capacity_bytes} bytes is too small; give at least {UNIT_BYTES}"
            )
        self.capacity_bytes = capacity_bytes & -UNIT_BYTES
        self.free_bytes = 0
        self._taken: dict[int, int] = {}  # offset -> end
        self._free: dict[int, int] = {}  # offset -> end
        self._free_ending: dict[int, int] = {}  # end -> offset
        self._sizes: list[int] = []  # distinct sizes of free ranges, ascending
        self._of_size: dict[int, dict[int, None]] = {}  # size -> offsets of free ranges, in order
        self._insert(0, self.capacity_bytes)

    @property
    def largest_free_bytes(self) -> int:
        """Size of the largest contiguous free range."""
        return self._sizes[-1] if self._sizes else 0

    def allocate(self, size_bytes: int) -> int | None:
        """Take the start of the smallest free range that is large enough, or return None."""
        size = round_up(size_bytes)
        if size > self.capacity_bytes:
            raise SampleTooLarge(
                f"a sample of {size_bytes} bytes does not fit into {self.capacity_bytes} bytes, "
                "even if they are all free; give the cache more memory or make samples smaller"
            )
        place = bisect_left(self._sizes, size)
        if place == len(self._sizes):
            return None

        offset = next(reversed(self._of_size[self._sizes[place]]))
        end = self._free[offset]
        self._remove(offset)
        if offset + size < end:
            self._insert(offset + size, end)
        self._taken[offset] = offset + size
        return offset

    def split(self, offset: int, size: int) -> None:
        """Make several taken ranges of this size, and what is left, of one."""
        end = self._taken_end(offset)
        for start in range(offset, end, size):
            self._taken[start] = min(start + size, end)

    def free(self, offset: int) -> None:
        """Give a taken range back and merge it with its free neighbors."""
        end = self._taken_end(offset)
        del self._taken[offset]
        before, after = self._free_ending.get(offset), self._free.get(end)
        if before is not None:
            self._remove(before)
            offset = before
        if after is not None:
            self._remove(end)
            end = after
        self._insert(offset, end)

    def _taken_end(self, offset: int) -> int:
        end = self._taken.get(offset)
        if end is None:
            raise BadArgument(
                f"no taken range starts at offset {offset}; free each range only once"
            )
        return end

    def _insert(self, offset: int, end: int) -> None:
        size = end - offset
        self._free[offset] = end
        self._free_ending[end] = offset
        self.free_bytes += size
        same = self._of_size.get(size)
        if same is None:
            self._of_size[size] = {offset: None}
            insort(self._sizes, size)
        else:
            same[offset] = None

    def _remove(self, offset: int) -> None:
        end = self._free.pop(offset)
        size = end - offset
        del self._free_ending[end]
        self.free_bytes -= size
        same = self._of_size[size]
        del same[offset]
        if not same:
            del self._of_size[size]
            del self._sizes[bisect_left(self._sizes, size)]
