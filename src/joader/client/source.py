"""What a pass reads next, and what it has yielded: drawn by the daemon, or told by a sampler.

Both are the authority on what was yielded. `begin` says what is left, to any daemon; what was asked
for and not yielded before it is asked for again.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from joader.client.progress import Progress
from joader.messages import BatchReady, NextBatch, StartPass, packed, unpacked


class Source(Protocol):
    """The order of one pass."""

    @property
    def epoch(self) -> int:
        """The number of the pass's epoch."""
        ...

    @property
    def complete(self) -> bool:
        """Whether everything was yielded."""
        ...

    def begin(self, number: int) -> StartPass:
        """Begin, or begin again with another daemon."""
        ...

    def ask(self) -> NextBatch | None:
        """Return what to ask for next; None when nothing is left."""
        ...

    def position(self, number: int) -> int:
        """Return the position in the dataset that the daemon speaks of."""
        ...

    def note(self, batch: BatchReady) -> None:
        """Note that a batch was yielded."""
        ...

    def state(self, fingerprint: str, seed: int, order: str) -> dict[str, Any]:
        """Return what was yielded, as small plain data."""
        ...


class Drawn:
    """The daemon draws from what is left of the dataset.

    Of several ranks each asks for its part of every step, and all note the whole step.
    """

    def __init__(
        self, progress: Progress, batch_size: int, drop_last: bool, world_size: int = 1
    ) -> None:
        """Go on from this progress."""
        self.progress = progress
        self._batch_size = batch_size
        self._ranks = world_size
        left, step = progress.length - progress.count, batch_size * world_size
        if world_size > 1:  # equal steps: what is missing in the last is filled up
            self._left = (left // step if drop_last else -(-left // step)) * batch_size
        else:
            self._left = left - left % step if drop_last else left
        self._unasked = self._left
        self._offset = 0

    @property
    def epoch(self) -> int:
        """The number of the pass's epoch."""
        return self.progress.epoch

    @property
    def complete(self) -> bool:
        """Whether everything was yielded."""
        return self._left <= 0

    def begin(self, number: int) -> StartPass:
        """Begin, or begin again with another daemon."""
        self._unasked = self._left
        done = packed(self.progress.positions())
        return StartPass(number, self.progress.epoch, self.progress.key, done)

    def ask(self) -> NextBatch | None:
        """Return what to ask for next; None when nothing is left."""
        count = min(self._batch_size, self._unasked)
        self._unasked -= count
        return NextBatch(count) if count > 0 else None

    def position(self, number: int) -> int:
        """Return the position in the dataset that the daemon speaks of."""
        return number

    def note(self, batch: BatchReady) -> None:
        """Note that a batch was yielded."""
        positions = unpacked(batch.positions)
        self._left -= len(positions)
        self.progress.note(unpacked(batch.step) if batch.step else positions)

    def state(self, fingerprint: str, seed: int, order: str) -> dict[str, Any]:
        """Return what was yielded, as small plain data."""
        return self.progress.state(fingerprint, seed, order)


class Told:
    """A sampler of the user's says what comes; it is read a few batches ahead, as torch does."""

    def __init__(
        self, batches: Iterator[Sequence[int]], epoch: int, key: int, yielded: int, length: int
    ) -> None:
        """Go on after `yielded` batches; those the sampler gives before are left out."""
        self.epoch = epoch
        self.key = key
        self.yielded = yielded
        self._length = length
        self._batches = batches
        for _ in range(yielded):
            next(batches, None)
        self._waiting: deque[list[int]] = deque()  # taken from the sampler and not yielded
        self._asked = 0  # how many of these the daemon was asked for
        self._first = 0  # the daemon's number of the first position of the first of these
        self._look()

    @property
    def complete(self) -> bool:
        """Whether everything was yielded."""
        return not self._waiting

    def begin(self, number: int) -> StartPass:
        """Begin, or begin again with another daemon."""
        self._asked = self._first = 0
        return StartPass(number, self.epoch, self.key)

    def ask(self) -> NextBatch | None:
        """Return what to ask for next; None when the sampler has ended."""
        if self._asked == len(self._waiting):
            self._look()
        if self._asked == len(self._waiting):
            return None
        positions = self._waiting[self._asked]
        self._asked += 1
        return NextBatch(len(positions), packed(positions))

    def largest(self) -> int:
        """Return the size of the largest batch that is known so far."""
        return max(map(len, self._waiting), default=1)

    def position(self, number: int) -> int:
        """Return the position in the dataset that the daemon speaks of."""
        return self._waiting[0][number - self._first]

    def note(self, batch: BatchReady) -> None:
        """Note that a batch was yielded."""
        self._first += len(self._waiting.popleft())
        self._asked -= 1
        self.yielded += 1
        if not self._waiting:
            self._look()

    def state(self, fingerprint: str, seed: int, order: str) -> dict[str, Any]:
        """Return how many batches were yielded."""
        whole = Progress(self._length, self.epoch, self.key)
        return {**whole.state(fingerprint, seed, order), "batches": self.yielded}

    def _look(self) -> None:
        """Take the sampler's next batch."""
        positions = next(self._batches, None)
        if positions is not None:
            self._waiting.append([int(np.asarray(position)) for position in positions])
