"""How many rows may wait for a storage at once: more of them only stand in each other's way.

A storage answers more requests per second the more of them are under way, up to its own *knee*;
beyond it they queue, or slow each other down. Where that is nobody says, and it moves: others use
the storage, too, or it limits whoever asks too much. So rows per second are measured while so many
are in flight, and the number climbs to where they are most (climb.py).

A *window* is the time over which rows are counted. It begins when as many have come as were under
way when the number was changed, and ends when each that is under way has been replaced by another
twice: rows that began together end together, and fewer generations of them would be counted
one too many or too few. It counts only if as many were in flight as might be, or as many as memory
lets jobs ask for: a job that needs less says nothing about its storage.

To try fewer costs rows. So without a number to start with it begins only once rows wait much longer
than they did, the first of them alone: a storage that gives each row its time however many are in
flight has no knee to be found.

Not here: which rows are in flight (staff.py), and who is held back (feeding.py, stages.py).
"""

from math import inf

from joader.schedule.limits.climb import Climb

# Reports of rows come late by so much, and together.
_LATE_S = 0.03
# So long is counted at least, and at most: a storage may not answer at all.
_LEAST_S = 0.12
_LONGEST_S = 10.0
_LEAST_ROWS = 12
_GENERATIONS = 2.0
# So many of those that may be in flight were.
_FULL = 0.85
# Rows wait much longer than they did if it is so many times as long.
_LONGER = 2.0


class StorageKnee:
    """Of the rows of one recipe."""

    def __init__(self, first: int = 0) -> None:
        """Start with so many; 0: without a limit, with as many as there are workers for."""
        self._climb = Climb(first) if first else None
        self._in_flight, self._at = 0, -inf
        self._least = 1  # fewer cannot be in flight
        self._wait_s, self._least_wait_s = 0.0, inf  # of a row, of late and ever
        self.per_s = 0.0  # rows that come, as last measured; 0: not known
        self._since = -inf  # when the window began, or will
        self._skipped = 0  # rows that come before it begins
        self._rows = self._area = 0.0  # reported in it; in flight, times seconds

    @property
    def limit(self) -> float:
        """How many rows may be in flight."""
        return self._climb.number if self._climb else inf

    def waits(self, row_s: float) -> None:
        """Note how long a row waits, of late."""
        self._wait_s, self._least_wait_s = row_s, min(row_s, self._least_wait_s)

    def done(self, rows: int) -> None:
        """Note that so many rows have come."""
        if self._skipped > 0:
            self._skipped -= rows
        else:
            self._rows += rows

    def pass_time(self, in_flight: int, now: float) -> bool:
        """Note how many rows are in flight from now on; tell whether a window is over.

        What it has shown is `measure`d then.
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
        """Take in what a window has shown; another begins. So many rows `could` be in flight.

        `starved`: jobs wait for them, so fewer are in flight only because no more can be asked for.
        """
        usual, rate = self._area / (now - self._since), self._rows / (now - self._since)
        self._begin(now)
        # Also where all workers have just ended, or little was in flight: one is the least.
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
            # Of a storage that has just turned, the rate before tells that it has.
            self._climb = Climb(max(self._least, round(usual)), before_per_s)
        before = self._climb.number
        self._climb.note(rate, self._least, most, now)
        if self._climb.number != before:
            self._settle(now)

    def _settle(self, now: float) -> None:
        """Let a window begin when all that is under way has come."""
        self._skipped = self._in_flight
        self._begin(now + _LATE_S)

    def _begin(self, at: float) -> None:
        """Let a window begin."""
        self._since, self._rows, self._area = at, 0.0, 0.0
