"""How long rows take workers, and so how many each should have in hand; how fast jobs read."""

AHEAD = 4
# Rows that take longer than this are handed out two at a time: one to work on, one to go on with.
_SLOW_ROW_S = 0.02
_AHEAD_IF_SLOW = 2
# Rows of 20 µs are handed out by the dozen: a message per row would cost more than the row.
AHEAD_S = 0.008
MOST_AHEAD = 256
# How much of what was known of the pace remains with each further report.
_FADING = 0.95


class RowPace:
    """How long the rows of one loader take its workers, of late."""

    def __init__(self) -> None:
        """Start slow: at first rows are not known to be quick."""
        self._seconds = self._reports = 1.0

    def note(self, seconds: float, reports: int) -> None:
        """Note how long a worker took for so many reports.

        Sums, of all workers: reports that come at once, after a while of none, are not quick rows.
        """
        self._seconds = _FADING * self._seconds + max(seconds, 1e-6)
        self._reports = _FADING * self._reports + reports

    def room(self, in_hand: int, waits: bool) -> int:
        """Return how many more rows a worker should get that has so many in hand.

        `waits`: its rows wait for a network, and are begun when they come, all at once.
        """
        row_s = self._seconds / self._reports
        least = _AHEAD_IF_SLOW if row_s > _SLOW_ROW_S and not waits else AHEAD
        most = max(least, min(MOST_AHEAD, int(AHEAD_S / row_s)))
        room = max(0, most - in_hand)
        # One with quick rows gets them in large parts.
        return room if room > most // 4 or most < 4 * AHEAD else 0


class ReadingPace:
    """How many samples a job reads per second, of late."""

    def __init__(self, batch_size: int, memory_s: float) -> None:
        """Start unknown; what was read more than `memory_s` ago fades out."""
        self._batch_size, self._memory_s = batch_size, memory_s
        self._recent = 0.0  # how much it wanted in the last memory_s, older wants fading out
        self._recent_s = 0.0  # in what time: memory_s, or less if it has not read for long
        self._last_want = 0.0
        self.known = False  # whether it has read for long enough to tell
        self.per_s = 1.0  # as far as is known; always above 0
        self._work_out()

    def note(self, count: int, now: float) -> None:
        """Note that so many are wanted now."""
        # Not a rate from the time between two requests: jobs ask for their first batches at once.
        gone_s = max(0.0, now - self._last_want) if self._recent else 0.0
        kept = self._memory_s / (self._memory_s + gone_s)
        self._recent = self._recent * kept + count
        self._recent_s = (self._recent_s + gone_s) * kept
        self._last_want = max(now, self._last_want)
        self._work_out()

    def _work_out(self) -> None:
        self.known = self._recent_s > self._memory_s / 2
        # `recent` includes the batch wanted last, whose time has not come yet.
        since_s = self._recent_s if self.known else self._memory_s
        self.per_s = max(self._recent - self._batch_size, 1.0) / since_s
