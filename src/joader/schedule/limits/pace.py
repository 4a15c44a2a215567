"""How long rows take workers, and so how many rows make a chunk; how fast jobs read."""

from joader.schedule.experience import Pace

# A chunk, what a worker gets in one message, keeps it busy for about this long. It gets the next
# when this part of it is left: so it has work while the daemon answers, and never much more.
# Reports come every half of a chunk (REPORT_S in workers/outbox.py), so half would be too late.
CHUNK_S = 0.04
_LOW = 0.75
# The longest chunk, however quick rows are: a worker that dies takes its chunks with it.
MOST_CHUNK = 128
# The fewest rows that a worker has to go on with; more if it reads ahead, because it begins several
# rows at once (stages.py).
KEEPS = 1
KEEPS_READING_AHEAD = 3
# An own part that takes longer than this waits for its turn; shorter ones go along with their row.
HEAVY_S = 0.002
# How much of the known pace remains with each further report.
_FADING = 0.9
# One slow row says little about the next: a report counts as at most this many times the usual.
_MOST_TIMES = 8.0


class RowPace:
    """How long recent rows of one loader took its workers, and how much of it they computed.

    A row *computes* while it has a processor, and else *waits*, for a disk or a network. Time in
    which it wants a processor and has none is neither.
    """

    def __init__(self) -> None:
        """Start slow: at first rows are not known to be quick, and go out one by one."""
        self._seconds = self._rows = self._computed_s = self._waited_s = 0.0
        self._keeps = KEEPS
        self.row_s = CHUNK_S
        self.computing_s = CHUNK_S  # of row_s
        self.worked_s = 0.0  # of row_s, computing or waiting
        self.measured = False  # by reports, not only recalled
        self.chunk = 1  # how many rows a worker gets at a time
        self.low = KEEPS  # it gets more when it has this many left

    @property
    def known(self) -> bool:
        """Whether a row was timed."""
        return self._rows > 0

    @property
    def heavy(self) -> bool:
        """Whether one of them is known to take long enough to hold up others."""
        return self._rows > 0 and self.row_s > HEAVY_S

    @property
    def known_s(self) -> float:
        """How long a row takes, as reported; 0: nothing was."""
        return self.row_s if self._rows else 0.0

    @property
    def parts_s(self) -> tuple[float, float, float]:
        """How much of that it computes, waits for a storage, and waits for a processor."""
        if not self._rows:
            return 0.0, 0.0, 0.0
        waited_s = max(0.0, self.worked_s - self.computing_s)
        return self.computing_s, waited_s, max(0.0, self.row_s - self.worked_s)

    def recall(self, known: Pace) -> None:
        """Take over a pace from before; a few reports replace it."""
        if not self._rows and known.possible:
            self.note(known.row_s, 1, known.computing_s, known.worked_s - known.computing_s)
            self.measured = False

    @property
    def learned(self) -> Pace | None:
        """The measured pace, for the next job; None if nothing was measured."""
        return Pace(self.row_s, self.computing_s, self.worked_s) if self.measured else None

    def keep(self, rows: int) -> None:
        """Let a worker have at least this many rows to go on with."""
        self._keeps = rows
        self.low = max(self._keeps, int(_LOW * self.chunk))

    def note(
        self,
        seconds: float,
        rows: int,
        computed_s: float | None = None,
        waited_s: float | None = None,
    ) -> None:
        """Note how long a worker took for rows; by default it computed all the time."""
        computed_s = seconds if computed_s is None else computed_s
        waited_s = max(0.0, seconds - computed_s) if waited_s is None else waited_s
        if self._rows and seconds > _MOST_TIMES * rows * self.row_s:
            less = _MOST_TIMES * rows * self.row_s / seconds
            seconds, computed_s, waited_s = seconds * less, computed_s * less, waited_s * less
        self.measured = True
        self._seconds = _FADING * self._seconds + seconds
        self._rows = _FADING * self._rows + rows
        self._computed_s = _FADING * self._computed_s + computed_s
        self._waited_s = _FADING * self._waited_s + waited_s
        self.row_s = max(self._seconds / self._rows, 1e-6)
        self.computing_s = max(self._computed_s / self._rows, 1e-6)
        self.worked_s = (self._computed_s + self._waited_s) / self._rows
        self.chunk = chunk_of(self.row_s)
        self.low = max(self._keeps, int(_LOW * self.chunk))


def chunk_of(row_s: float) -> int:
    """Return how many rows of this length make a chunk."""
    return max(1, min(MOST_CHUNK, int(CHUNK_S / row_s)))


class ReadingPace:
    """How many samples per second a job has read recently."""

    def __init__(self, batch_size: int, memory_s: float) -> None:
        """Start unknown; requests more than `memory_s` ago fade out."""
        self._batch_size, self._memory_s = batch_size, memory_s
        self._recent = 0.0  # how much it wanted in the last memory_s, older wants fading out
        self._recent_s = 0.0  # in what time: memory_s, or less if it has not read for long
        self._last_want = 0.0
        self.known = False  # whether it has read for long enough to tell
        self.per_s = 1.0  # as far as is known; always above 0
        self._work_out()

    def note(self, count: int, now: float) -> None:
        """Note that the job wants `count` samples now."""
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
