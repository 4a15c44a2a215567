"""A generation: one fresh uniform order of all rows of a group, and the clock of those who read it.

Every number of the group (row_index.py) has a random key; the order is that of the keys. So a
generation is a pure function of (seed, nonce, group, generation number), and rows that come later
are inserted at uniformly random places without moving the others.

The *head* is the clock: the farthest place that a driver, a job that began its pass here, has
reached by the count of its draws. It is not where somebody's scan ended: a job with few unread rows
scans far ahead, and its pointer tells which rows it still needs (docs/order.md, "What must not
show").
"""

import numpy as np

from joader.sampling.bits import Bits
from joader.sampling.rows import NO_ROWS, Rows

Key = tuple[int, int, int, int]  # seed, nonce, group, number of the generation


class Generation:
    """The order of the rows, and how far it has been read.

    `reach`: how many places behind the head memory still holds; fixed when the generation opens,
    since what is in memory *now* depends on the order.
    """

    def __init__(self, key: Key, present: Rows, span: int, reach: int) -> None:
        """Shuffle the present ones of the numbers [0, span)."""
        self.key = key
        self.order = shuffled(key, present, span)
        self.span = span
        self.reach = reach
        self.head = 0
        self.stride = 0  # the most places that one draw has moved a pass
        self._places: Rows = NO_ROWS

    @property
    def number(self) -> int:
        """Which generation of the group this is."""
        return self.key[-1]

    @property
    def size(self) -> int:
        """How many rows it has."""
        return int(self.order.size)

    @property
    def over(self) -> bool:
        """Whether a pass that begins now had better begin in the next generation.

        Close to the end it had: those who are at the end will begin theirs within reach of it.
        """
        return self.head >= self.size - self.back

    @property
    def back(self) -> int:
        """How far behind the head a pass may begin: half of reach, and at least one draw."""
        return max(self.reach // 2, min(self.stride, self.size // 16))

    def places(self) -> Rows:
        """Return the place of each number; the end for those that are not present."""
        if self._places.size == 0 and self.order.size:
            self._places = np.full(self.span, self.size, np.uint32)
            self._places[self.order] = np.arange(self.order.size, dtype=np.uint32)
        return self._places

    def grow(self, present: Rows, span: int) -> Rows:
        """Insert numbers that came later; return for each old place, and the end, its new one."""
        before = self.order
        self.order = shuffled(self.key, present, span)
        self.span = span
        self._places = NO_ROWS
        moved = np.append(self.places()[before], np.uint32(self.order.size))
        # In proportion, not to where the inserted rows moved it: a clock that feels where rows lie
        # would tell the newcomer about its own.
        self.head = self.head * self.size // max(before.size, 1)
        return moved


def shuffled(key: Key, present: Rows, span: int) -> Rows:
    """Return the present ones of the numbers [0, span) in the order of this key.

    Sorting is by the upper bits of a word each, with the number in the lower bits: NumPy sorts
    plain words four times as fast as it finds the order of words, and twice as fast as it shuffles.
    """
    width = max(span - 1, 0).bit_length()
    low = np.uint64((1 << width) - 1)
    words = Bits("generation", *key).words(span)
    if present.size < span:
        words = words[present]
    words &= ~low
    words |= present
    words.sort()
    order = (words & low).astype(np.uint32)
    words >>= np.uint64(width)
    ties = np.flatnonzero(words[1:] == words[:-1])
    if ties.size:
        _settle(key, order, ties, span)
    return order


def _settle(key: Key, order: Rows, ties: np.ndarray, span: int) -> None:
    """Put runs of equal upper bits into random order: by number they would not be uniform."""
    words = Bits("generation", *key).words(span)
    more = Bits("ties of a generation", *key)
    firsts = ties[np.diff(ties, prepend=-2) > 1]
    lasts = ties[np.diff(ties, append=span + 2) > 1] + 1
    for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True):
        run = order[first : last + 1].tolist()
        # All bits of the words; words that are equal altogether get further ones.
        run.sort(key=lambda number: (int(words[number]), more.word()))
        order[first : last + 1] = run
