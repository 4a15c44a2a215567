"""A pass without a daemon: the order it would have had, and every row to be read in the job.

`Alone` gives a pass what a `Connection` gives it, and takes the same messages. Draws come from the
sampling room, and all rows are `absent`: the pass reads them by itself (in_job.py). So a pass that
loses its daemon goes on as if nothing had happened: every position once, batches of the same types,
and under the order "seeded" the same batches. Nothing is prepared ahead or shared.

A job whose rows take no time asks for no daemon at all (`chosen`), and its passes are of this kind.
"""

import os
from collections import deque
from collections.abc import Iterator
from secrets import randbits

import msgspec
import numpy as np
from numpy.typing import NDArray

from joader.client.order.progress import NOBODY
from joader.client.order.source import Source
from joader.memory import Layout
from joader.memory.layout import LINE_BYTES
from joader.messages import MY_JOB, Begin, Deliver, Want
from joader.sampling import IndependentSampler, Sampler, SequentialSampler
from joader.sampling.job_rows import JobRows

_NONE = np.empty(0, np.int64)


class Alone:
    """One pass without a daemon."""

    def __init__(
        self,
        rows: NDArray[np.int64],
        row_limit: int,
        order: str,
        seed: int,
        *,
        chosen: bool = False,
    ) -> None:
        """Read these rows in this order; `chosen`: not for want of a daemon."""
        self.chosen = chosen
        self._rows = JobRows(rows, row_limit)
        self._order, self._seed = order, seed
        self._sampler: Sampler = SequentialSampler()
        self._number = 0
        self._told = 0  # how many positions it was told in this pass
        self._asked: deque[NDArray[np.int64]] = deque()
        self._pid = os.getpid()
        self.memory: NDArray[np.uint8] = np.zeros(LINE_BYTES, np.uint8)
        self.closed = self.lost = False
        self.passes = 0
        self.draws_as = NOBODY
        self.batch_size = 1 << 62  # no batch is too large
        self.daemon_pid = 0

    @property
    def usable_here(self) -> bool:
        """Whether it was made by this process and was not closed."""
        return not self.closed and self._pid == os.getpid()

    @property
    def ended(self) -> bool:
        """Whether what was copied may be another's by now: never, as nobody else writes."""
        return False

    def send(self, *messages: msgspec.Struct) -> None:
        """Begin a pass, or note what to read next; slots need not be given back."""
        for message in messages:
            if isinstance(message, Begin):
                self._begin(message)
            elif isinstance(message, Want):
                self._asked.append(self._next(message))

    def batch(self, timeout_s: float) -> Deliver:
        """Return which rows the next batch that was asked for is made of."""
        numbers = self._asked.popleft()
        return Deliver(
            MY_JOB,
            positions=numbers,
            samples=_NONE,
            offsets=_NONE,
            prepared=numbers.size,
            absent=np.arange(numbers.size),
            number=self._number,
        )

    def layouts(self, batch: Deliver) -> list[Layout]:
        """Return how samples lie in memory: none do."""
        return []

    def close(self) -> None:
        """Be over."""
        self.closed = True

    def hang_up(self) -> None:
        """Do nothing: there is nobody to hang up on."""

    def _begin(self, message: Begin) -> None:
        self._number = message.number
        self._asked.clear()
        self._told = 0
        if self._order == "told":
            return
        seed = self._seed if self._order == "seeded" else None
        left = self._rows.left(message.done, message.epoch, seed)
        draws = self._order in ("shared", "joint")
        self._sampler = IndependentSampler(randbits(63)) if draws else SequentialSampler()
        self._sampler.add(MY_JOB, left)

    def _next(self, message: Want) -> NDArray[np.int64]:
        """Return what the next batch is made of: positions, or numbers in the order it was told."""
        if self._order == "told":
            first, self._told = self._told, self._told + message.count
            return np.arange(first, self._told)
        return self._rows.positions(self._sampler.draw({MY_JOB: message.count})[MY_JOB])


def batches_of(source: Source, alone: Alone) -> Iterator[list[int]]:
    """Yield all batches of a pass as positions; nothing is read, and nothing counts as yielded."""
    alone.send(source.begin(1))
    while (request := source.ask()) is not None:
        alone.send(request)
        yield alone.batch(0.0).positions.tolist()
