"""How many rows may wait for a storage at once: more of them only stand in each other's way.

A storage answers more requests per second the more of them are under way, up to its own *knee*;
beyond it they queue, or slow each other down. Where that is nobody says, and it moves: others use
the storage, too, or it limits whoever asks too much. So rows per second are measured while so many
are in flight, and the number climbs to where they are most (climb.py).

A *window* is the time over which rows are counted. It begins when those that were under way before
the number was changed are done, and lasts as long as a few rows take. It counts only if as many
were in flight as might be, or as many as memory lets jobs ask for: a job that needs less says
nothing about its storage.

Not here: which rows are in flight (staff.py), and who is held back (feeding.py).
"""

from math import inf

from joader.schedule.climb import Climb

# Reports of rows come late by so much, and together.
_LATE_S = 0.03
# So long is counted at least, and for so many times as long as a row takes; at most so long.
_LEAST_S = 0.12
_TIMES = 2.0
_LONGEST_S = 3.0
_LEAST_ROWS = 8
# So many of those that may be in flight were.
_FULL = 0.85


class StorageKnee:
    """Of the rows of one recipe."""

    def __init__(self, first: int = 0) -> None:
        """Start with so many; 0: without a limit, with as many as there are workers for."""
        self._climb = Climb(first) if first else None
        self._in_flight, self._at = 0, -inf
        self._since = -inf  # when the window began, or will
        self._rows = self._area = 0.0  # reported in it; in flight, times seconds
        self._row_s = 0.0  # how long a row is under way

    @property
    def limit(self) -> float:
        """How many rows may be in flight."""
        return self._climb.number if self._climb else inf

    @property
    def searching(self) -> bool:
        """Whether other numbers are being tried now."""
        return self._climb is not None and self._climb.searching

    def done(self, rows: int) -> None:
        """Note that so many rows have come."""
        self._rows += rows

    def pass_time(self, in_flight: int, most: int, starved: bool, now: float) -> None:
        """Note how many rows are in flight from now on, of `most` that workers could have.

        `starved`: jobs wait for them, so fewer are in flight only because no more can be asked for.
        """
        if now > self._since:
            self._area += self._in_flight * (now - max(self._at, self._since))
        self._in_flight, self._at = in_flight, now
        if in_flight > self.limit:  # those before the change are not done yet
            self._begin(now + _LATE_S + self._row_s)
        if now <= self._since:
            self._rows = 0
            return
        lasts_s = now - self._since
        full_s = max(_LEAST_S, min(_LONGEST_S, _TIMES * self._row_s))
        if lasts_s < full_s or (self._rows < _LEAST_ROWS and lasts_s < _LONGEST_S):
            return
        usual, rate = self._area / lasts_s, self._rows / lasts_s
        self._begin(now)
        if not rate or most < 1:
            return
        if usual < _FULL * min(self.limit, most):
            if not starved:
                return
            most = max(1, round(usual))
        self._row_s = usual / rate  # Little's law
        if self._climb is None:
            self._climb = Climb(round(usual))
        before = self._climb.number
        self._climb.note(rate, most, now)
        if self._climb.number != before:
            self._begin(now + _LATE_S + self._row_s)

    def _begin(self, at: float) -> None:
        """Let a window begin."""
        self._since, self._rows, self._area = at, 0.0, 0.0
