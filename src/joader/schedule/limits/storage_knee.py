"""How many rows may wait for a storage at once: beyond some number they only slow each other down.

A storage answers more requests per second the more of them are in flight, up to its own *knee*;
beyond it they queue, or slow each other down. The knee is not known, and it moves: others use the
storage, too, or it throttles clients that ask too much. So rows per second are measured for the
number in flight, and a `Climb` moves that number to where the rate is highest.

A *window* is the time over which rows are counted. It begins when as many have come as were in
flight when the number was changed, and ends when each of those in flight has been replaced twice:
rows that began together end together, so over fewer generations the count would be one too high or
too low. It counts only if as many rows were in flight as may be, or as many as memory lets jobs ask
for: a job that needs less says nothing about its storage.

Trying fewer costs rows. So without a number to start with, a climb begins only once rows wait much
longer than the first ones did: if latency does not depend on concurrency there is no knee.

A `Climb` finds the number with the highest rate by trial, of a rate that changes and is measured
with errors. It assumes only that the rate rises up to some number and does not rise beyond. A
*search* tries twice or half the number while that gives more, then smaller steps around the best;
of two numbers that give nearly the same, the smaller is kept. Between searches the best number is
*held*. Its neighbors are tried at intervals that grow while the best stays the best; so are those
of the first number. If the rate of the held number changes, what was known is forgotten and a
search begins: downward if it has fallen, since a storage that struggles should not be asked for
more. Then it *sinks*: far beyond its best number a storage may give as little for half as many, so
smaller numbers are tried until one gives more.

Not here: which rows are in flight (staff.py), and who is held back (feeding.py, stages.py).
"""

from math import ceil, floor, inf, sqrt

# Reports of rows come late by this much, and together.
_LATE_S = 0.03
# The shortest and the longest window: a storage may not answer at all.
_LEAST_S = 0.12
_LONGEST_S = 10.0
_LEAST_ROWS = 12
_GENERATIONS = 2.0
# A window counts if at least this part of the rows that may be in flight were.
_FULL = 0.85
# Rows wait much longer than the first ones did if it is this many times as long.
_LONGER = 2.0


class StorageKnee:
    """The knee of one recipe's storage."""

    def __init__(self, first: int = 0) -> None:
        """Start with `first` rows in flight; 0: without a limit, as many as workers read."""
        self._climb = Climb(first) if first else None
        self._in_flight, self._at = 0, -inf
        self._least = 1  # fewer cannot be in flight
        self._wait_s, self._least_wait_s = 0.0, inf  # of a row: recent, shortest
        self.per_s = 0.0  # rows that come, as last measured; 0: not known
        self._since = -inf  # when the window began, or will
        self._skipped = 0  # rows that come before it begins
        self._rows = self._area = 0.0  # reported in it; in flight, times seconds

    @property
    def limit(self) -> float:
        """How many rows may be in flight."""
        return self._climb.number if self._climb else inf

    def waits(self, row_s: float) -> None:
        """Note how long a row has waited recently."""
        self._wait_s, self._least_wait_s = row_s, min(row_s, self._least_wait_s)

    def done(self, rows: int) -> None:
        """Note that `rows` more rows have come."""
        if self._skipped > 0:
            self._skipped -= rows
        else:
            self._rows += rows

    def pass_time(self, in_flight: int, now: float) -> bool:
        """Note how many rows are in flight from now on; tell whether a window is over.

        Then call `measure`.
        """
        if now > self._since:
            self._area += self._in_flight * (now - max(self._at, self._since))
        self._in_flight, self._at = in_flight, now
        if in_flight > max(self._least, self.limit):  # those before the change are not done yet
            self._settle(now)
        elif self._skipped > 0 or now <= self._since:
            self._begin(max(self._since, now))
        else:
            lasts_s, rows = now - self._since, max(_LEAST_ROWS, _GENERATIONS * in_flight)
            return lasts_s >= _LEAST_S and (self._rows >= rows or lasts_s >= _LONGEST_S)
        return False

    def measure(self, could: range, starved: bool, now: float) -> None:
        """Take in a window that is over, and begin another.

        `could`: how many rows could be in flight. `starved`: jobs wait for them, so fewer are in
        flight only because no more can be asked for.
        """
        usual, rate = self._area / (now - self._since), self._rows / (now - self._since)
        self._begin(now)
        # One is the least, also if all workers have just ended or little was in flight.
        self._least, most = max(1, could.start), could.stop - 1
        if not rate or most < self._least:
            return
        if usual < _FULL * min(self.limit, most):
            if not starved:
                return
            most = max(self._least, round(usual))
        before_per_s, self.per_s = self.per_s, rate
        if self._climb is None:
            if self._wait_s < _LONGER * self._least_wait_s:
                return
            # If the storage has just turned slow, the rate before tells that it has.
            self._climb = Climb(max(self._least, round(usual)), before_per_s)
        before = self._climb.number
        self._climb.note(rate, self._least, most, now)
        if self._climb.number != before:
            self._settle(now)

    def _settle(self, now: float) -> None:
        """Let a window begin when all rows now in flight have come."""
        self._skipped = self._in_flight
        self._begin(now + _LATE_S)

    def _begin(self, at: float) -> None:
        """Let a window begin."""
        self._since, self._rows, self._area = at, 0.0, 0.0


# What a search begins with, and where it ends.
_FIRST = 2.0
_LAST = 1.15
# How far neighbors are that are tried now and then; to move farther than _FAR is no error.
_NEIGHBOR = 1.25
_FAR = 1.5
# More counts as better if it gives this part of what it would if the rate rose with the number.
_GAIN = 1 / 6
# From this part on the next step is larger.
_STEEP = 1 / 2
# With a step of 1, a smaller part than this is not credible.
_STRANGE = 0.7
# Fewer count as good if they give no less than this part of the most.
_ENOUGH = 0.96


# The rate of the held number has changed if it differs by this factor twice in a row: the first
# window may have begun before the change.
_CHANGED = 1.3
# How much of a further measurement goes into the rate of the held number.
_LEARNED = 0.3


# How long the best number is held before its neighbors are tried, at first and at most; each is at
# least this many times as long as a try takes, so that tries never cost much.
_HELD_S, _HELD_TIMES = 1.0, 4.0
_LONGEST_HELD_S, _LONGEST_HELD_TIMES = 10.0, 40.0


class Climb:
    """One number, and what is known of its rate."""

    def __init__(self, number: int, rate: float = 0.0) -> None:
        """Start here; `rate` is what it gave so far, if that is known."""
        self.number = number  # in force: the best, or one that is tried
        self._best, self._rate, self._peak = number, rate, rate
        self._factor, self._up, self._turned = 0.0, False, False
        self._from = number  # where this search began
        self._below = 0  # the least that was tried while it sinks; 0: it does not
        self._known: set[int] = set()  # numbers that this search has tried
        self._odd = 0  # how often in a row the held number gave something else
        self._held_s, self._hold_until = _HELD_S, 0.0
        self._noted = inf  # when something was measured last
        self._try_s = inf  # how long a try takes, the shortest of this search

    @property
    def searching(self) -> bool:
        """Whether other numbers are being tried."""
        return self._factor > 0.0

    def note(self, rate: float, least: int, most: int, now: float) -> None:
        """Note the rate of the number in force; only `least` to `most` are possible."""
        self.number = max(least, min(self.number, most))
        self._try_s = min(self._try_s, max(0.0, now - self._noted))
        if not self._rate:
            # In small steps: halving would cost much, and a storage in trouble soon gives more.
            self._begin(_NEIGHBOR, rate, up=False)
        elif self.searching:
            self._tried(rate)
        elif not self._held(rate, now):
            self._noted = now
            return
        self._next(least, most, now)
        self._noted = now

    def _begin(self, factor: float, rate: float, up: bool, sinks: bool = False) -> None:
        self._rate = self._peak = rate
        self._below = self._best if sinks else 0
        self._factor, self._up, self._turned = factor, up, False
        self._from, self._known = self._best, {self._best}
        self._odd, self._try_s = 0, inf

    def _held(self, rate: float, now: float) -> bool:
        """Take in the rate of the held number; tell whether to try others."""
        times = max(rate / self._rate, self._rate / max(rate, 1e-9))
        if times > _CHANGED:
            self._odd += 1
            if self._odd < 2:
                return False
            self._held_s = _HELD_S
            up = rate > self._rate
            self._begin(_FIRST, rate, up, sinks=not up)
            return True
        self._odd = 0
        self._rate += _LEARNED * (rate - self._rate)
        if now < self._hold_until:
            return False
        self._begin(_NEIGHBOR, self._rate, up=False)
        return True

    def _tried(self, rate: float) -> None:
        """Keep the number that was tried if it is better, or go another way."""
        if rate < _STRANGE / self._factor * self._rate:
            # No storage is that steep: it has changed, and what was known is outdated.
            self._best = self.number
            self._begin(_FIRST, rate, up=False, sinks=True)
            return
        gain = (rate / self._rate - 1.0) / (self._factor - 1.0)
        gained = gain > _GAIN
        better = gained if self._up else rate >= _ENOUGH * self._peak
        self._peak = max(self._peak, rate)
        if better:
            self._best, self._rate = self.number, rate
            self._turned = True  # on in this direction: what lies behind was tried
            if gain > _STEEP:  # so the best is farther away than neighbors are
                self._factor = min(_FIRST, self._factor**2)
        if self._below:
            self._below = 0 if gained else self.number
        elif not better:
            self._turn()

    def _turn(self) -> None:
        """Go the other way, or on with smaller steps."""
        if self._turned:
            self._factor, self._up, self._turned = sqrt(self._factor), False, False
        else:
            self._up, self._turned = not self._up, True

    def _next(self, least: int, most: int, now: float) -> None:
        """Choose the number to try next, or hold the best if there is none."""
        self._best = max(least, min(self._best, most))
        while self._factor >= _LAST:
            if self._up:
                number = min(most, ceil(self._best * self._factor))
            else:
                number = max(least, floor((self._below or self._best) / self._factor))
            if number not in self._known:
                self._known.add(number)
                self.number = number
                return
            self._below = 0
            self._turn()
        self._factor, self.number = 0.0, self._best
        longest_s = max(_LONGEST_HELD_S, _LONGEST_HELD_TIMES * self._try_s)
        first_s = max(_HELD_S, _HELD_TIMES * self._try_s)
        moved = max(self._best / self._from, self._from / self._best) > _FAR
        self._held_s = first_s if moved else min(2 * max(self._held_s, first_s), longest_s)
        self._hold_until = now + self._held_s
