"""What a pass reads next, and what it has yielded: drawn by the daemon, or told by a sampler.

Both are the authority on what was yielded. `begin` says what is left, to any daemon; what was asked
for and not yielded before it is asked for again.
"""

from collections import deque
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

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

    def raise_error(self) -> None:
        """Raise what kept the order from going on, if everything before it was yielded."""
        ...

    def positions(self, batch: BatchReady) -> NDArray[np.int64]:
        """Return the positions in the dataset of a batch that is not noted yet, in order."""
        ...

    def note(self, batch: BatchReady) -> None:
        """Note that a batch was yielded."""
        ...

    def state(self, fingerprint: str, seed: int, order: str) -> dict[str, Any]:
        """Return what was yielded, as small plain data."""
        ...


class Drawn:
    """The daemon draws from what is left of the dataset.

    Of several ranks each asks for its part of every step, and all note the whole step. So their
    states are equal; the random numbers of each start elsewhere.
    """

    def __init__(
        self,
        progress: Progress,
        batch_size: int,
        drop_last: bool,
        world_size: int = 1,
        salt: tuple[int, ...] = (),
    ) -> None:
        """Go on from this progress; `salt`, a rank's number first, goes into its random numbers."""
        self.progress = progress
        self._batch_size = batch_size
        self._salt = salt
        full, rest = divmod(progress.length - progress.count, batch_size * world_size)
        # Equal steps: the last is shared out evenly, as far as that goes.
        self._left = full * batch_size + (0 if drop_last else -(-rest // world_size))
        self._unasked = self._left

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
        key = self.progress.key
        if self._salt:
            # A rank's random numbers go by the order of what it reads, which is counted from 0.
            key = key_from(key, self.progress.count, *self._salt)
        return StartPass(number, self.progress.epoch, key, done)

    def ask(self) -> NextBatch | None:
        """Return what to ask for next; None when nothing is left."""
        count = min(self._batch_size, self._unasked)
        self._unasked -= count
        return NextBatch(count) if count > 0 else None

    def raise_error(self) -> None:
        """Do nothing: what is drawn is always there."""

    def positions(self, batch: BatchReady) -> NDArray[np.int64]:
        """Return the positions in the dataset of a batch that is not noted yet, in order."""
        told = unpacked(batch.positions)
        if not batch.step:
            return told
        first = self._salt[0] * len(told)  # ranks are told numbers in their stead
        return unpacked(batch.step)[first : first + len(told)]

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
        self,
        batches: Iterator[list[int]],
        progress: Progress,
        yielded: int = 0,
        sampler: str = "",
    ) -> None:
        """Go on after `yielded` batches; `sampler` is its state when the pass began."""
        self._progress = progress
        self._yielded = yielded
        self._sampler = sampler
        self._batches = batches
        for _ in range(yielded):
            next(batches, None)
        self._waiting: deque[list[int]] = deque()  # taken from the sampler and not yielded
        self._asked = 0  # how many of these the daemon was asked for
        self._error: Exception | None = None  # of the sampler, after these
        self._look()

    @property
    def epoch(self) -> int:
        """The number of the pass's epoch."""
        return self._progress.epoch

    @property
    def complete(self) -> bool:
        """Whether everything was yielded."""
        return not self._waiting

    def begin(self, number: int) -> StartPass:
        """Begin, or begin again with another daemon."""
        self._asked = 0
        # The daemon counts what it is told from 0 again: the random numbers must not be the same.
        return StartPass(number, self.epoch, key_from(self._progress.key, self._yielded))

    def ask(self) -> NextBatch | None:
        """Return what to ask for next; None when the sampler has ended."""
        if self._asked == len(self._waiting):
            self._look()
        if self._asked == len(self._waiting):
            return None
        positions = self._waiting[self._asked]
        self._asked += 1
        return NextBatch(len(positions), packed(positions))

    def raise_error(self) -> None:
        """Raise what the sampler raised, once everything before it was yielded."""
        error, self._error = (None, self._error) if self._waiting else (self._error, None)
        if error is not None:
            raise error

    def largest(self) -> int:
        """Return the size of the largest batch that is known so far."""
        return max(map(len, self._waiting), default=1)

    def positions(self, batch: BatchReady) -> NDArray[np.int64]:
        """Return the positions in the dataset of a batch that is not noted yet, in order."""
        return np.array(self._waiting[0], np.int64)

    def note(self, batch: BatchReady) -> None:
        """Note that a batch was yielded."""
        self._waiting.popleft()
        self._asked -= 1
        self._yielded += 1
        if not self._waiting:
            self._look()

    def state(self, fingerprint: str, seed: int, order: str) -> dict[str, Any]:
        """Return how many batches were yielded, and where the sampler had begun."""
        whole = self._progress.state(fingerprint, seed, order)
        return {**whole, "batches": self._yielded, "sampler": self._sampler}

    def _look(self) -> None:
        """Take the sampler's next batch."""
        try:
            positions = next(self._batches, None)
        except Exception as error:  # the user's code; it is looked at ahead of its time
            self._error = self._error or error
            return
        if positions is not None:
            self._waiting.append(positions)


def key_from(*parts: int) -> int:
    """Return where random numbers start that are made of all of these."""
    name = " ".join(map(str, parts)).encode()
    return int.from_bytes(blake2b(name, digest_size=8).digest()) >> 1
