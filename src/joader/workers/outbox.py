"""The reports of one worker, collected so that one write carries many.

The reports of a chunk go out in one write, when the chunk is done or REPORT_S after its first row
was begun; rows that take longer are reported at once. The working thread adds reports and sends
them. If the next row takes unexpectedly long, the listening thread sends what has waited for
HELD_S.

Prepared samples travel in one message for rows and one for own parts, each with the seconds that
they took, computed and waited, because the daemon charges them to different claimants. Samples that
need a slot travel in one message, too.
"""

import threading
import time

from msgspec.structs import replace

from joader.messages import Compared, Failed, NotBegun, Prepared, Sized
from joader.wire import Channel
from joader.workers.clock import Clock, Spent

# Rows that take longer than this together are reported at once.
REPORT_S = 0.02
# After this time the listening thread sends waiting reports.
HELD_S = 2 * REPORT_S

Reply = Prepared | Sized | Failed | Compared


class Outbox:
    """The reports of one worker that are not sent yet; `_lock` guards all of them."""

    def __init__(self, channel: Channel[object]) -> None:
        """Send through `channel`; no other code writes to it."""
        self._channel = channel
        self._lock = threading.Lock()
        self._rows: list[Prepared] = []
        self._own: list[Prepared] = []
        self._sized: list[Sized] = []
        self._others: list[Reply] = []
        # Time not reported yet: that of failed or merely sized rows goes with the next report.
        self._rows_s = self._own_s = 0.0
        self._read_s, self._reads = 0.0, 0  # the part spent on reading rows, and how many rows
        self._along_s = 0.0  # the part spent on own parts of rows prepared whole
        self._since = 0.0  # when the first of them was begun
        self._clock: Clock | None = None

    def start_clock(self) -> None:
        """Report from now on how time was spent; called by the working thread."""
        self._clock = Clock()

    def add(self, reply: Reply, own: bool, seconds: float) -> None:
        """Add the report of an own part or a row that took `seconds`."""
        with self._lock:
            if not self._holds:
                self._since = time.monotonic() - seconds
            if own:
                self._own_s += seconds
            else:
                self._rows_s += seconds
            if isinstance(reply, Sized):
                self._sized.append(reply)
            elif not isinstance(reply, Prepared):
                self._others.append(reply)
            elif own:
                self._own.append(reply)
            else:
                self._rows.append(reply)

    def spent(self, seconds: float) -> None:
        """Count time spent on several rows before the first of them is reported."""
        with self._lock:
            self._rows_s += seconds

    def read(self, seconds: float, rows: int) -> None:
        """Count `seconds` of the next reports as spent on reading this many rows."""
        with self._lock:
            self._read_s += seconds
            self._reads += rows

    def own_part(self, seconds: float) -> None:
        """Count `seconds` of the next reports of rows as spent on an own part."""
        with self._lock:
            self._along_s += seconds

    @property
    def _holds(self) -> bool:
        return bool(self._rows or self._own or self._sized or self._others)

    def flush(self, after_s: float = 0.0) -> bool:
        """Send all reports if the first row was begun `after_s` ago; return whether it did."""
        with self._lock:
            if not self._holds or time.monotonic() - self._since < after_s:
                return False
            # Rows first: the report of an own part must follow that of its source.
            messages: list[Reply] = []
            wall_s = max(self._rows_s + self._own_s, 1e-9)
            spent = self._clock.spent(wall_s) if self._clock and (self._rows or self._own) else None
            if self._rows:
                rows = _joined(self._rows, self._rows_s, spent, self._rows_s / wall_s)
                if self._reads:
                    rows = replace(rows, read_s=self._read_s, reads=self._reads)
                    self._read_s, self._reads = 0.0, 0
                if self._along_s:
                    rows, self._along_s = replace(rows, own_s=self._along_s), 0.0
                messages.append(rows)
                self._rows, self._rows_s = [], 0.0
            if self._own:
                messages.append(_joined(self._own, self._own_s, spent, self._own_s / wall_s))
                self._own, self._own_s = [], 0.0
            if self._sized:
                samples = tuple([reply.samples[0] for reply in self._sized])
                messages.append(Sized(samples, tuple([reply.sizes[0] for reply in self._sized])))
                self._sized = []
            messages += self._others
            self._others = []
            self._channel.send(*messages)
            return True

    def give_back(self, samples: tuple[int, ...]) -> None:
        """Report samples that were not begun, after all earlier reports."""
        self.flush()
        with self._lock:
            self._channel.send(NotBegun(samples))


def _joined(replies: list[Prepared], seconds: float, spent: Spent | None, part: float) -> Prepared:
    """Merge reports of one sample each; `part` is their fraction of `spent`."""
    samples = tuple([reply.samples[0] for reply in replies])
    sizes = tuple([reply.sizes[0] for reply in replies])
    layouts = tuple([reply.layouts[0] for reply in replies])
    first_size, first_layout = sizes[0], layouts[0]
    if all(size == first_size for size in sizes):
        sizes = (first_size,)
    if all(layout is first_layout or layout == first_layout for layout in layouts):
        layouts = (first_layout,)
    raw_sizes: tuple[int, ...] = ()
    if any(reply.raw_sizes for reply in replies):
        raw_sizes = tuple([reply.raw_size_of_each[0] for reply in replies])
    computed_s, waited_s = -1.0, -1.0
    if spent is not None:
        computed_s, waited_s = part * spent.computed_s, part * spent.waited_s
    return Prepared(
        samples,
        sizes,
        layouts,
        seconds=seconds,
        computed_s=computed_s,
        waited_s=waited_s,
        raw_sizes=raw_sizes,
    )
