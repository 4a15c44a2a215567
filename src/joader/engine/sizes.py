"""How large samples of one kind are: what to reserve for the next, and what is usual.

A slot is reserved before the sample is made and cut to size when it is there, so a generous guess
costs memory only for a moment. The guess is the largest of the latest samples: of equal ones every
sample fits exactly, of others about one in RECENT has to ask for another slot.
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
        self.slot_bytes = 0  # to reserve for the next; 0 while nothing is known

    @property
    def usual_bytes(self) -> int:
        """The mean, as slots are counted; 0 while nothing is known."""
        return -(-self._total_bytes // self._count) if self._count else 0

    def note(self, size_bytes: int) -> None:
        """Note the size of a sample."""
        size = round_up(size_bytes)
        self._recent.append(size)
        self._total_bytes += size
        self._count += 1
        self.slot_bytes = max(self._recent)
