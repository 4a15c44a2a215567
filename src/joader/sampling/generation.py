"""A generation: one fresh uniform order of all rows of a group, and the clock of its readers.

Every number of the group (row_index.py) has a random key; the order is that of the keys. So a
generation is a pure function of (seed, nonce, group, generation number), and rows that come later
are inserted at uniformly random places without moving the others.

The *head* is the clock: the farthest place that a driver, a job that began its pass here, has
reached by the count of its draws. It is not where a job's scan ended: one with few unread rows
scans far ahead, and its pointer tells which rows it still needs (docs/order.md, "What must not
show").
"""

from typing import NamedTuple, Protocol

import numpy as np

from joader.sampling.bits import Bits, order_of
from joader.sampling.rows import NO_ROWS, Rows

Key = tuple[int, int, int, int]  # seed, nonce, group, number of the generation


class Clock(NamedTuple):
    """How far a generation has been read, as nodes tell each other: counts, never rows."""

    group: int
    generation: int
    head: int
    size: int

    @property
    def part(self) -> float:
        """Which part of it."""
        return self.head / max(self.size, 1)


class Driver(Protocol):
    """A pass that began in a generation and moves its clock."""

    @property
    def left(self) -> int:
        """Rows not read."""

    def pace(self) -> float:
        """Return places per place of the clock."""


class Generation:
    """The order of the rows, and how far it has been read.

    `reach`: how many places behind the head memory still holds; fixed when the generation opens,
    because what is in memory *now* depends on the order.
    """

    def __init__(self, key: Key, present: Rows, span: int, reach: int) -> None:
        """Shuffle the present ones of the numbers [0, span)."""
        self.key = key
        self.order = shuffled(key, present, span)
        self.size = int(self.order.size)
        self.span = span
        self.reach = reach
        self.head = 0
        self.stride = 0  # the most places that one draw has moved a pass
        self.drivers: list[Driver] = []
        self.driven_elsewhere = False  # on another node, whose clock is heard of
        self._places: Rows = NO_ROWS

    @property
    def number(self) -> int:
        """Which generation of the group this is."""
        return self.key[-1]

    @property
    def over(self) -> bool:
        """Whether a pass that begins now had better begin in the next generation.

        Close to the end it is: the passes at the end will begin their next one within reach of it.
        """
        return self.head >= self.size - self.back

    @property
    def driven(self) -> bool:
        """Whether some pass moves its clock."""
        return self.driven_elsewhere or any(driver.left for driver in self.drivers)

    @property
    def driven_here(self) -> bool:
        """Whether a pass of this process does."""
        return any(driver.left for driver in self.drivers)

    @property
    def back(self) -> int:
        """How far behind the head a pass may begin: an eighth of reach, or one draw."""
        return max(self.reach // 8, min(self.stride, self.size // 16))

    def places(self) -> Rows:
        """Return the place of each number; the end for those that are not present."""
        if self._places.size == 0 and self.order.size:
            self._places = np.full(self.span, self.size, np.uint32)
            self._places[self.order] = np.arange(self.order.size, dtype=np.uint32)
        return self._places

    def hear(self, clock: Clock | None) -> None:
        """Take in how far other nodes have read this generation; None: no job there reads it.

        In proportion, because they may have other rows. It counts draws as our own clock does, so
        the order stays independent of rows.
        """
        self.driven_elsewhere = clock is not None
        if clock is not None:
            self.head = max(self.head, clock.head * self.size // max(clock.size, 1))

    def grow(self, present: Rows, span: int) -> Rows:
        """Insert numbers that came later; return for each old place, and the end, its new one."""
        before = self.order
        self.order = shuffled(self.key, present, span)
        self.size = int(self.order.size)
        self.span = span
        self._places = NO_ROWS
        moved = np.append(self.places()[before], np.uint32(self.order.size))
        # In proportion, not to where the inserted rows moved it: a clock that feels where rows lie
        # would tell the newcomer about its own.
        self.head = self.head * self.size // max(before.size, 1)
        return moved


def shuffled(key: Key, present: Rows, span: int) -> Rows:
    """Return the present ones of the numbers [0, span) in the order of this key."""
    words = Bits("generation", *key).words(span)
    if present.size < span:
        words = words[present]
    order = order_of(words, lambda place: Bits("tie", *key, int(present[place])).word())
    assert order is not None
    return order if present.size == span else present[order]
