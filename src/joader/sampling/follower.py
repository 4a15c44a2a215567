"""One pass of one job through a generation: what it reads next.

A pass *follows* its generation from a pointer: it reads the rows behind it that it needs. What it
missed, because it began late or was too slow, it reads at the end, in its *tail*: in the order of
its own generation, once more around, or by following the newest generation.

A row is *known* if the job's own past tells something about its place in the generation that it
follows: it has read it since it began to follow, or had it skipped while its other rows were read.
Known rows (T in docs/order.md) are drawn blind, in an order of their own, in proportion to their
number: first the class of a draw is chosen, then the row. The others are exchangeable, so they may
be taken as they come.

Where a row is kept: one byte per number of the group, `marks`. A pass over all rows of its
generation that has not jumped needs none (`marks` is None): it is the order, cut at `start` and
put together again the other way round.
"""

import numpy as np
from numpy.typing import NDArray

from joader.sampling.bits import Bits
from joader.sampling.blind import FREE, KNOWN, READ, Blind, Marks
from joader.sampling.generation import Generation
from joader.sampling.rows import NO_ROWS, Rows, RowSet

# How many draws ahead classes are chosen: choosing one by one costs 10 us each.
COINS = 1024
# How far beyond the head the tail of another generation may scan, as a part of reach.
TAIL_SCAN = 2
# Passes whose paces differ by no more than this are side by side for a whole tail, or nearly.
SAME_PACE = 0.02


class Follower:
    """A pass in progress, or over; a pass that is over is the past of the job's next one."""

    def __init__(self, rows: RowSet, generation: Generation, drives: bool, behind: int = 0) -> None:
        """Begin `behind` rows behind the head; at the first place if that is near."""
        self.rows = rows
        self.left = rows.size
        self.began = generation  # whose clock the pass drives, from its first draw to its last
        self.generation = generation
        self.drives = drives
        self.following = True  # False: in the tail, in the order of the own generation
        behind = behind * generation.size // max(rows.size, 1)
        place = min(generation.head, generation.size) - behind
        if place <= generation.back:
            place = 0
        self.start = self.pointer = self._from = place
        self.around = 0
        self.marks: Marks | None = None
        self._anchor, self._since = place, 0  # the place by the count of draws since the anchor
        self._timed = 0, 0  # rows read, and how far the clock moved meanwhile
        self._gap = 1.0  # places scanned per row found
        self._known = Blind(NO_ROWS)
        self._spare: Blind | None = None  # for draws that find nothing to follow
        self._coins: NDArray[np.bool_] = np.empty(0, np.bool_)

    @property
    def read(self) -> int:
        """Rows read so far."""
        return self.rows.size - self.left

    @property
    def leads(self) -> bool:
        """Whether the pass moves the clock of what it follows: then it may run ahead of it."""
        return self.drives and self.generation is self.began

    @property
    def known_left(self) -> int:
        """Unread rows that are drawn blind in proportion."""
        return self._known.left

    def classes(self, count: int, bits: Bits) -> NDArray[np.bool_]:
        """Return for each of the next draws whether it is of a known row."""
        if not self._known.left:
            return np.zeros(count, np.bool_)
        return self._flip(count, self.left, bits)

    def known_ahead(self, count: int) -> Rows:
        """Return the known rows that are drawn next."""
        return self._known.order[self._known.at : self._known.at + count]

    def use_marks(self, marks: Marks) -> None:
        """Keep a byte per number from now on."""
        self.marks = marks
        self._gap = self.generation.size / max(self.rows.size, 1)

    def set_known(self, numbers: Rows, bits: Bits) -> None:
        """Draw these rows, all marked so, blind."""
        self._known = Blind(numbers[bits.permutation(numbers.size)])

    def place(self) -> int:
        """Return where the pass is by the count of its draws."""
        return self._anchor + self._since * self.began.size // max(self.rows.size, 1)

    def pace(self) -> float:
        """Return places per place of the clock, at most 1, from counts of draws.

        Measured until the head is at the end: then the fastest are gone and it moves with the slow.
        It must not depend on when the tail turned: that depends on the row order, and other jobs
        read this value.
        """
        return self._pace(*self._timed)

    def own_pace(self) -> float:
        """Return the same, for a tail that has turned by the clock of what it follows, too."""
        if self.generation is self.began:
            return self.pace()
        return self._pace(self.read, self.began.head - self._from + self.generation.head)

    def _pace(self, read: int, clock: int) -> float:
        moved = read * self.began.size / max(self.rows.size, 1)
        return min(1.0, moved / clock) if clock > 0 and moved else 1.0

    def keep_up(self, count: int) -> None:
        """Before a draw: jump to the head if memory does not reach back to this pass.

        Where the pass is counts by its draws. A draw is at once, so it must not count as lag.
        """
        clock = self.began
        if not self.drives:
            return
        stride = count * clock.size // max(self.rows.size, 1)
        clock.stride = max(clock.stride, stride)
        if clock.head - self.place() <= max(clock.reach, 2 * stride):
            return
        self._anchor, self._since = clock.head, 0
        if self.generation is clock and self.following:
            self._jump(min(clock.head, clock.size))

    def take(self, count: int, newest: Generation, bits: Bits) -> Rows:
        """Read the next `count` rows."""
        drawn = self._straight(count, newest) if self.marks is None else NO_ROWS
        if drawn.size < count:
            drawn = self._marked(drawn, count, newest, bits)
        self.left -= count
        self._since += count
        return drawn

    def advance(self) -> None:
        """After a draw: move the clock to where this pass is by the count of its draws."""
        if self.drives:
            self.began.head = max(self.began.head, self.place())
            if self.began.head < self.began.size:
                self._timed = self.read, self.began.head - self._from

    def _jump(self, place: int) -> None:
        if place > self.pointer:
            if self.marks is None:
                if self.pointer == self.start:
                    self.start = self._from = place
                else:
                    self.mark()
            self.pointer = place

    def mark(self) -> None:
        """Write down what was read: from here on it is no longer one cut of the order."""
        order = self.generation.order
        marks = np.zeros(self.generation.span, np.uint8)
        marks[order] = FREE
        marks[order[self.start : self.pointer]] = READ
        marks[order[: self.around]] = READ
        self.use_marks(marks)

    def move(self, generation: Generation, moved: Rows, inserted: Rows) -> None:
        """Keep the place in a generation that rows were inserted into; `moved`: old to new."""
        before = moved.size - 1
        if self.began is generation:
            # What counts for the clock moves in proportion, as the head does, and not with the rows
            # that were inserted: other jobs read it.
            place = self._anchor + self._since * before // max(self.rows.size, 1)
            self._anchor, self._since = place * generation.size // max(before, 1), 0
            self._from = self._from * generation.size // max(before, 1)
            read, clock = self._timed
            self._timed = read, clock * generation.size // max(before, 1)
        if self.generation is generation:
            self.start, self.pointer, self.around = (
                int(moved[place]) for place in (self.start, self.pointer, self.around)
            )
            assert self.marks is not None
            self._widen(generation.span)
            # Not like rows that were there when this job passed their places.
            self.marks[inserted] |= KNOWN

    def _widen(self, span: int) -> None:
        assert self.marks is not None
        if self.marks.size < span:
            wider = np.zeros(span, np.uint8)
            wider[: self.marks.size] = self.marks
            self.marks = wider

    def _straight(self, count: int, newest: Generation) -> Rows:
        """Cut from the order as it is; fewer if the tail is to follow another generation."""
        order, end = self.generation.order, self.pointer + count
        if end <= order.size:
            rows = order[self.pointer : end]
            self.pointer = end
            return rows
        rows = order[self.pointer :]
        self.pointer = order.size
        if self._turns_to(newest, self.left - rows.size):
            self.mark()
            self._turn(newest)
            return rows
        rest = count - rows.size
        self.around += rest
        tail = order[self.around - rest : self.around]
        return np.concatenate([rows, tail]) if rows.size else tail

    def _marked(self, drawn: Rows, count: int, newest: Generation, bits: Bits) -> Rows:
        """Draw class by class until there are `count` rows."""
        parts = [drawn] if drawn.size else []
        left, due = self.left - drawn.size, count - drawn.size
        while due:
            if not self._known.left:
                rows, _ = self._free(due, left, newest, bits)
            else:
                rows = self._of_both(due, left, newest, bits)
            parts.append(rows)
            due -= rows.size
            left -= rows.size
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _of_both(self, count: int, left: int, newest: Generation, bits: Bits) -> Rows:
        """Draw as the coins say; fewer than asked if the pass turns to another generation."""
        known = self._flip(count, left, bits)
        others = np.flatnonzero(~known)
        free, turned = self._free(others.size, left, newest, bits)
        if turned:
            # The last of `free` is the draw that found nothing to follow. Its class had been
            # chosen: choosing again at this moment would favor known rows.
            known = known[: int(others[free.size - 1]) + 1]
            others = others[: free.size]
        rows = np.empty(known.size, np.uint32)
        rows[others] = free
        blind = self._known.take(known.size - others.size, None)
        rows[known] = blind
        assert self.marks is not None
        self.marks[blind] = READ
        if turned:
            self._turn(newest)
        else:
            self._coins = self._coins[count:]
        return rows

    def _flip(self, count: int, left: int, bits: Bits) -> NDArray[np.bool_]:
        """Return for each of the next draws whether it is of a known row."""
        have = self._coins.size
        if have < count:
            # The classes of draws without replacement: known ones have the ranks below `known`.
            known = self._known.left - int(np.count_nonzero(self._coins))
            fresh = bits.distinct_below(left - have, min(max(count - have, COINS), left - have))
            self._coins = np.concatenate([self._coins, fresh < known])
        return self._coins[:count]

    def _free(self, count: int, left: int, newest: Generation, bits: Bits) -> tuple[Rows, bool]:
        """Return the next rows that are not known, and whether the pass has then to turn.

        Without known rows it turns by itself and returns all of them.
        """
        parts: list[Rows] = []
        due = count
        while due and self.following:
            if not self.leads:
                self._stay_near()
            rows = self._scan(due, self.limit())
            parts.append(rows)
            due -= rows.size
            if not due:
                break
            if self.pointer < self.generation.size:
                # At the clock, which this pass does not drive: draw blind instead of running ahead.
                parts.append(self._blind(due, bits))
                due = 0
            elif self._turns_to(newest, left - (count - due)):
                if self._known.left:
                    parts.append(self._scan_around(1))
                    return _joined(parts), True
                self._turn(newest)
            elif newest is self.generation:
                break  # the next call may find a newer one
        if due:
            parts.append(self._scan_around(due))
        return _joined(parts), False

    def limit(self) -> int:
        """Return how far the pass may scan: one that does not lead stays near the clock."""
        generation = self.generation
        if self.leads:
            return generation.size
        return min(generation.size, generation.head + generation.reach // TAIL_SCAN)

    def _stay_near(self) -> None:
        if self.generation.head - self.pointer > self.generation.reach:
            self.pointer = min(self.generation.head, self.generation.size)

    def _scan(self, count: int, end: int) -> Rows:
        """Read up to `count` rows that are unread and not known before place `end`."""
        rows, self.pointer = self._look(self.pointer, count, end)
        return rows

    def _scan_around(self, count: int) -> Rows:
        rows, self.around = self._look(self.around, count, self.generation.size)
        return rows

    def _look(self, place: int, count: int, end: int) -> tuple[Rows, int]:
        assert self.marks is not None
        order, marks = self.generation.order, self.marks
        parts: list[Rows] = []
        due = count
        while due and place < end:
            there = order[place : min(end, place + int(due * self._gap * 1.125) + 16)]
            found = np.flatnonzero(marks[there] == FREE)
            scanned = there.size
            if found.size >= due:
                found = found[:due]
                scanned = int(found[-1]) + 1
            self._gap = (self._gap + scanned / found.size) / 2 if found.size else 2 * self._gap
            rows = there[found]
            marks[rows] = READ
            parts.append(rows)
            due -= rows.size
            place += scanned
        return _joined(parts), place

    def _blind(self, count: int, bits: Bits) -> Rows:
        """Read any rows, in a random order of their own."""
        assert self.marks is not None
        if self._spare is None:
            unread = np.flatnonzero(self.marks == FREE).astype(np.uint32)
            self._spare = Blind(unread[bits.permutation(unread.size)])
        rows = self._spare.take(count, self.marks)
        self.marks[rows] = READ
        return rows

    def _turns_to(self, newest: Generation, left: int) -> bool:
        """Return whether the tail, which begins now, should follow the newest generation.

        This may depend on counts only. Following shares what the head will pass before the tail is
        read; but then those rows are known in the next pass, if that begins in the same generation.
        If not, the tail keeps the order of its own generation to the end. With company that is
        better: the tails of all passes of one pace begin at the first place now, and one of them
        prepares for all.
        """
        if newest is self.generation or not self.following:
            return False
        unread, pace = left / max(self.rows.size, 1), self.own_pace()
        ahead = 1 - newest.head / max(newest.size, 1)
        gain = unread * unread / pace / 2 if unread < pace else unread
        cost = max(0.0, ahead - unread / pace) * pace * unread
        if gain > cost and not self._has_company(pace):
            return True
        self.following = False
        return False

    def _has_company(self, pace: float) -> bool:
        return self.generation is self.began and any(
            other is not self and other.left and abs(other.pace() - pace) <= SAME_PACE
            for other in self.began.drivers
        )

    def _turn(self, newest: Generation) -> None:
        """Follow another generation, of which nothing is known."""
        assert self.marks is not None
        self.marks &= FREE
        self._widen(newest.span)
        self._known = Blind(NO_ROWS)
        self._coins = self._coins[:0]
        self.generation = newest
        self.pointer = min(newest.head, newest.size)
        self.around = 0
        self._spare = None


def _joined(parts: list[Rows]) -> Rows:
    if not parts:
        return NO_ROWS
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
