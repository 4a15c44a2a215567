"""How large samples of one kind are: what to reserve for the next, and what is usual.

A slot is reserved before the sample is made and cut to size when it is there. While the latest
samples are of one size, the next is taken to be so too. Where they differ the usual size is
reserved, and about every second sample asks for another slot: reserving the largest of 16 instead
had others evicted for room that was then cut off (on a full node with photos of 0.1 to 3 MB the
search for victims took the daemon 0.5 ms a sample).
"""

from collections import deque

from joader.cache import round_up

RECENT = 16


class Sizes:
    """The sizes of the samples of a recipe, or of a job's own part."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._recent: deque[int] = deque(maxlen=RECENT)
        self._total_bytes = 0
        self._count = 0
        self._equal = False  # whether all recent ones are
        self.slot_bytes = 0  # to reserve for the next; 0 while nothing is known

    @property
    def usual_bytes(self) -> int:
        """The mean, as slots are counted; 0 while nothing is known."""
        return -(-self._total_bytes // self._count) if self._count else 0

    def note(self, size_bytes: int) -> None:
        """Note the size of a sample."""
        size = round_up(size_bytes)
        self._total_bytes += size
        self._count += 1
        if self._equal and size == self.slot_bytes:
            return
        self._recent.append(size)
        largest = max(self._recent)
        self._equal = largest == min(self._recent)
        self.slot_bytes = largest if self._equal else round_up(self.usual_bytes)
