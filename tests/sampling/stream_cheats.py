"""Nine ways in which streams could leak, each as a pass that does it; all read every row once.

Eight were seen in simulations before the scheme was exact (docs/order.md, "What must not show"),
the ninth when the proof was written. `cheating` puts one in the place of the honest pass.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar
from unittest import mock

import numpy as np

from joader.sampling import stream_group
from joader.sampling.bits import Bits
from joader.sampling.blind import FREE, KNOWN, OWN, READ, UNREAD
from joader.sampling.follower import Follower
from joader.sampling.generation import Generation
from joader.sampling.rows import Rows
from joader.sampling.stream_group import StreamGroup


class Alone(Follower):
    """Honest, but never stays in its tail for company: more passes have known rows.

    Which rule a tail uses is free as long as it depends on counts, so this is exact as well.
    """

    def _has_company(self, pace: float) -> bool:
        return False


class ChoosesAtEveryRow(Alone):
    """Flips the coin again for every row of the stream that passes, not once a draw."""

    def _of_both(self, count: int, left: int, newest: Generation, bits: Bits) -> Rows:
        assert self.marks is not None
        while self.pointer < self.generation.size:
            if bits.below(left) < self._known.left:
                rows = self._known.take(1, None)
                self.marks[rows] = READ
                return rows
            rows = self.generation.order[self.pointer : self.pointer + 1]
            self.pointer += 1
            if self.marks[rows[0]] == FREE:
                self.marks[rows] = READ
                return rows
        return super()._of_both(1, left, newest, bits)


class TailTakesWhatPasses(Alone):
    """Prefers in its tail what the running generation has just shown: that is in memory."""

    def take(self, count: int, newest: Generation, bits: Bits) -> Rows:
        self._newest = newest
        if self.marks is None and self.pointer + count > self.generation.size:
            self.mark()
        return super().take(count, newest, bits)

    def _scan_around(self, count: int) -> Rows:
        assert self.marks is not None
        head = min(self._newest.head, self._newest.size)
        lately = self._newest.order[max(0, head - 12) : head]
        ready = lately[self.marks[lately] == FREE][:count]
        self.marks[ready] = READ
        if ready.size == count:
            return ready
        return np.concatenate([ready, super()._scan_around(count - ready.size)])


class ForgetsBlindDraws(Alone):
    """Counts as known only what it took from the stream."""

    def _blind(self, count: int, bits: Bits) -> Rows:
        rows = super()._blind(count, bits)
        assert self.marks is not None
        self.marks[rows] = OWN
        return rows


class ClockOfScans(Alone):
    """Moves the clock to where its scan ended, and jumps by that."""

    def place(self) -> int:
        if self.generation is self.began and self.following:
            return self.pointer
        return super().place()


class TailPostponesKnown(Alone):
    """Draws in its tail all other rows first, whatever the share of the known ones."""

    def _flip(self, count: int, left: int, bits: Bits) -> Any:
        if self.pointer >= self.generation.size:
            return np.arange(count) >= left - self._known.left
        return super()._flip(count, left, bits)


class ChoosesAnewAtTheTurn(Alone):
    """Forgets the class of the draw that found nothing to follow."""

    def _of_both(self, count: int, left: int, newest: Generation, bits: Bits) -> Rows:
        while count:
            known = self._flip(1, left, bits)
            if not known[0]:
                at_end = not self._left_ahead()
                if at_end and self.following and self._turns_to(newest, left):
                    self._turn(newest)
                    return self._free(1, left, newest, bits)[0]
            return super()._of_both(1, left, newest, bits)
        raise AssertionError

    def _left_ahead(self) -> bool:
        assert self.marks is not None
        return bool((self.marks[self.generation.order[self.pointer :]] == FREE).any())


class FollowsOtherTails(Follower):
    """Takes in its tail what another tail of the same generation has just read."""

    shown: ClassVar[list[tuple[Generation, int]]] = []

    def take(self, count: int, newest: Generation, bits: Bits) -> Rows:
        if self.marks is None and self.pointer + count > self.generation.size:
            self.mark()
        return super().take(count, newest, bits)

    def _scan_around(self, count: int) -> Rows:
        assert self.marks is not None
        shown = type(self).shown
        rows: list[int] = []
        for generation, number in shown[-8:]:
            if generation is self.generation and self.marks[number] == FREE and len(rows) < count:
                self.marks[number] = READ
                rows.append(number)
        own = super()._scan_around(count - len(rows)) if len(rows) < count else np.empty(0, int)
        shown += [(self.generation, number) for number in own.tolist()]
        return np.array([*rows, *own.tolist()], np.uint32)


class ClockOfRows(Alone):
    """Lets the clock run with what rows cost: the upper half is dear."""

    def take(self, count: int, newest: Generation, bits: Bits) -> Rows:
        rows = super().take(count, newest, bits)
        self._since += 2 * int(np.count_nonzero(rows * 2 >= newest.size))
        return rows


CHEATS = (
    ChoosesAtEveryRow,
    TailTakesWhatPasses,
    ForgetsBlindDraws,
    ClockOfScans,
    TailPostponesKnown,
    ChoosesAnewAtTheTurn,
    FollowsOtherTails,
    ClockOfRows,
)


def mixes_kinds(self: StreamGroup, follower: Follower, past: Follower) -> None:
    """Follow, after a pass that was broken off, all rows but those that it read."""
    if past.marks is None:
        past.mark()
    assert past.marks is not None
    marks = np.zeros(self.index.span, np.uint8)
    marks[: past.marks.size] = past.marks & KNOWN
    mine = self.index.numbers(follower.rows)
    marks[mine] |= UNREAD | OWN
    follower.use_marks(marks)
    known = mine[(marks[mine] & KNOWN) != 0]
    if known.size:
        follower.set_known(known, self._bits)


@contextmanager
def cheating(cheat: type[Follower]) -> Iterator[None]:
    """Let all passes that begin meanwhile cheat."""
    FollowsOtherTails.shown.clear()
    with mock.patch.object(stream_group, "Follower", cheat):
        yield
