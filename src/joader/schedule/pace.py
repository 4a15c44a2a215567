"""How long a row takes, and so how many rows a worker should have in hand."""

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
