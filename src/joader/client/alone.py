"""A job that loads by itself, where there is no daemon for it: the rest of a pass in the process.

`Alone` gives a pass what a `Connection` gives it, and takes the same messages. Draws come from the
sampling room, samples from the same parts of the recipe with the same random numbers, and they go
through the same layouts. So a pass that loses its daemon goes on as if nothing had happened: every
position once, batches of the same types, and under the order "seeded" the same batches.

What differs: nothing is prepared ahead or shared, and the user's code runs here. It finds the
global random numbers, and torch's get_worker_info(), as in a worker, and the training finds them as
they were. One batch is in memory at a time, in a buffer that grows to its size.
"""

import os
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from itertools import repeat
from secrets import randbits
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from joader.engine.recipe_rows import JobRows
from joader.memory import Layout, Parcel, pack, read
from joader.memory.layout import LINE_BYTES
from joader.messages import BatchReady, NextBatch, StartPass, packed, unpacked
from joader.recipe.parts import OwnPart, SharedPart, step_names
from joader.recipe.randomness import kept_random_numbers, key_of, start_random_numbers
from joader.sampling import IndependentSampler, Sampler, SequentialSampler
from joader.workers.complaint import complaint
from joader.workers.desk import LOADING, READING, WRITING

_ME = 0  # the only job of the sampler
_WHERE = "the job itself, process"


class _Wanted(NamedTuple):
    """A batch that was asked for."""

    numbers: NDArray[np.int64]  # what it calls its samples
    positions: NDArray[np.int64]
    times: NDArray[np.int64]  # how often each came before in this pass


class Alone:
    """One pass without a daemon."""

    def __init__(
        self,
        shared: SharedPart,
        own: OwnPart,
        rows: NDArray[np.int64],
        row_limit: int,
        order: str,
        seed: int,
    ) -> None:
        """Read these rows in this order."""
        self._shared = replace(shared, worker={})  # the loader's own still travels to daemons
        self._started = False
        self._own = own
        self._shared_step, self._own_step = self._begins(shared), self._begins(own)
        self._rows = JobRows(rows, row_limit)
        self._order, self._seed = order, seed
        self._sampler: Sampler = SequentialSampler()
        self._number = self._key = 0
        self._told = 0  # how many positions it was told in this pass
        self._asked: deque[_Wanted] = deque()
        self._at = ""  # which step of the user's code it is in
        self._layouts: list[Layout] = []
        self._used_bytes = 0
        self._pid = os.getpid()
        self.memory: NDArray[np.uint8] = np.zeros(LINE_BYTES, np.uint8)
        self.closed = self.lost = False
        self.passes = 0
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
            if isinstance(message, StartPass):
                self._begin(message)
            elif isinstance(message, NextBatch):
                self._asked.append(self._next(message))

    def batch(self, timeout_s: float) -> BatchReady:
        """Prepare the next batch that was asked for, however long it takes."""
        numbers, positions, times = self._asked[0]
        keys = map(key_of, repeat(self._key), positions.tolist(), times.tolist())
        self._layouts, self._used_bytes = [], 0
        offsets: list[int] = []
        failed: list[tuple[int, str]] = []
        with kept_random_numbers():
            rows = self._rows.rows[positions].tolist()
            for number, row, key in zip(numbers.tolist(), rows, keys, strict=True):
                try:
                    offsets.append(self._put(self._prepared(row, key)))
                except (Exception, SystemExit) as error:  # the user's code
                    failed.append((number, complaint(error, self._at, __file__, _WHERE)))
        self._asked.popleft()  # not before: a batch that Ctrl-C broke off is still to come
        return BatchReady(
            self._number,
            packed(numbers),
            b"",
            packed(offsets),
            tuple(range(len(offsets))),
            failed=tuple(failed),
            prepared=len(offsets),
        )

    def layouts(self, batch: BatchReady) -> list[Layout]:
        """Return how each sample of the latest batch lies in memory."""
        return [self._layouts[number] for number in batch.layouts]

    def close(self) -> None:
        """Let go of the memory."""
        self.closed = True
        self.hang_up()

    def hang_up(self) -> None:
        """Let go of the memory."""
        self.memory = np.zeros(LINE_BYTES, np.uint8)

    def _begin(self, message: StartPass) -> None:
        self._number, self._key = message.number, message.key
        self._asked.clear()
        self._told = 0
        if self._order == "told":
            return
        seed = self._seed if self._order == "seeded" else None
        left = self._rows.left(unpacked(message.done), message.epoch, seed)
        draws = self._order == "shared"
        self._sampler = IndependentSampler(randbits(63)) if draws else SequentialSampler()
        self._sampler.add(_ME, left)

    def _next(self, message: NextBatch) -> "_Wanted":
        """Return what the next batch is made of."""
        never = np.zeros(message.count, np.int64)
        if self._order == "told":
            positions = unpacked(message.positions)
            numbers = np.arange(self._told, self._told + positions.size)
            self._told += positions.size
            times = unpacked(message.times) if message.times else never
            return _Wanted(numbers, positions, times)
        drawn = self._sampler.draw({_ME: message.count})[_ME]
        positions = self._rows.positions(drawn)
        return _Wanted(positions, positions, never)

    def _prepared(self, row: int, key: int) -> Parcel:
        """Do what workers do to a row."""
        if not self._started:
            self._at = LOADING.decode()
            self._shared.start(worker=0, workers=1, seed=randbits(63))
            self._started = True
        self._at = READING.decode()
        start_random_numbers(key)
        sample = pack(self._shared.prepare(row, None, self._shared_step))
        if not self._own.steps.steps:
            return sample
        # On a copy: what the own part edits in place may belong to the dataset.
        start_random_numbers(key)
        return pack(self._own.finish(_copied(sample), key, self._own_step))

    def _begins(self, part: SharedPart | OwnPart) -> Callable[[int], None]:
        """Return who is to be told of each step of a part."""
        names = [name.decode(errors="replace") for name in step_names(part)]

        def note(number: int) -> None:
            self._at = names[number]

        return note

    def _put(self, sample: Parcel) -> int:
        """Write a sample behind the others, at once: the dataset may use its arrays again."""
        self._at = WRITING.decode()
        start, size = self._used_bytes, sample.layout.size_bytes
        end = start + max(1, -(-size // LINE_BYTES)) * LINE_BYTES
        if end > self.memory.size:
            larger = np.zeros(max(end, 2 * self.memory.size), np.uint8)
            larger[:start] = self.memory[:start]
            self.memory = larger
        sample.write(self.memory[start:end])
        self._used_bytes = end
        self._layouts.append(sample.layout)
        return start


def _copied(sample: Parcel) -> Any:
    slot = np.zeros(max(1, sample.layout.size_bytes), np.uint8)
    sample.write(slot)
    return read(sample.layout, slot, allow_pickle=True)
