"""What each batch of a pass is made of: samples from workers, rows read here, rows that failed.

A batch whose rows workers have prepared stays where it is, in slots. Rows that nobody has prepared
for a job without workers (`absent`), or that failed only because they were prepared in another
process, are read here (in_job.py), and the batch is made of objects, as torch's loader without
workers makes it.

An `Assembly` is of one pass: it keeps the spare samples of `on_error`, and what was logged.
Not here: where batches come from (delivery.py), how they are collated (collate.py).
"""

import logging
import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from joader.client.order.source import Source
from joader.client.reading.collate import Samples, Slots, samples_of
from joader.client.reading.connection import Connection
from joader.client.reading.in_job import InJob
from joader.client.reading.loader_view import Reading
from joader.client.reading.no_daemon import Alone
from joader.client.reading.on_error import (
    HERE,
    Mender,
    failed_elsewhere,
    failed_here,
    good_places,
)
from joader.client.reading.torch_workers import Failed
from joader.memory import CannotTravel
from joader.messages import Deliver
from joader.recipe.randomness import key_of, random_state
from joader.recipe.watch import BetterInTheJob
from joader.workers.complaint import class_of, complaint, was_raised, without_class

log = logging.getLogger("joader")


class Assembled(NamedTuple):
    """What a batch is made of."""

    whole: Slots | Samples | None  # None: no row is good, or the batch raises
    failed: int  # how many rows
    failure: Exception | None  # what the batch raises

    @property
    def size(self) -> int:
        """How many rows there are to make it of, with those that replace others."""
        return 0 if self.whole is None else len(self.whole.rows)


class Unread(NamedTuple):
    """A batch of which rows are to be read here; lists are by place in the batch."""

    positions: list[int]
    rows: NDArray[np.int64]
    keys: list[int]  # where random numbers start
    failed: dict[int, str]  # why, by position
    found: dict[int, Any]  # samples that are here already, by place


class Assembly:
    """Brings the rows of each batch of a pass together."""

    def __init__(self, loader: Reading, source: Source) -> None:
        """Read for this loader, in this order."""
        self._loader, self._source = loader, source
        # Ranks take equal steps, so none of them may leave a batch out.
        self._mender = Mender(loader.on_error, equal_steps=not loader.goes_on_elsewhere)
        self._reader: InJob | None = None  # made when the first row is to be read here
        self._said_here = False

    def begin_again(self) -> None:
        """Read from now on as the loader does now."""
        self._reader = None

    def reads_here(self, batch: Deliver) -> bool:
        """Tell whether rows of a batch are to be read in this process."""
        if batch.absent.size > 0 or self._loader.reads_itself:
            return True
        return any(self._may_try_here(reason) for _, reason in batch.failed)

    def of_slots(self, batch: Deliver, connection: Connection | Alone) -> Assembled:
        """Return what to make a batch of that workers have prepared."""
        layouts = connection.layouts(batch)
        rows = self._loader.rows_at(self._source.positions(batch))
        if batch.failed:
            rows = rows[good_places(batch)]
        slots = Slots(layouts, connection.memory, batch.offsets, rows)
        mended = self._mender.mended(batch, slots)
        return self._assembled(mended, self._failed(batch))

    def unread(
        self, batch: Deliver, connection: Connection | Alone, read: dict[int, Any] | None
    ) -> Unread:
        """Return a batch as it is before rows are read here; `read` if torch's workers read it."""
        if self._reader is None:
            self._reader = self._loader.in_job()
        positions = self._source.positions(batch)
        pass_key, times = self._source.randomness(batch)
        numbers = positions.tolist()
        as_it_is = self._loader.reads_as_it_is
        found = {} if as_it_is else read
        if found is None:
            found = samples_of(connection.layouts(batch), connection.memory, batch)
        return Unread(
            positions=numbers,
            rows=self._loader.rows_at(positions),
            keys=[key_of(pass_key, p, t) for p, t in zip(numbers, times, strict=True)]
            if self._reader.takes_keys
            else [0] * len(numbers),
            failed={} if as_it_is else dict(self._failed(batch)),
            found=found,
        )

    def of_samples(self, batch: Unread) -> Assembled:
        """Read what is missing of a batch, and return what to make it of."""
        assert self._reader is not None
        samples: list[Any] = []
        good: list[int] = []
        wrong: list[tuple[int, str]] = []
        took_s: list[float] = []
        before = random_state() if self._loader.watch_here() else None
        with self._reader.undisturbed():
            for place, position in enumerate(batch.positions):
                begun = time.perf_counter()
                try:
                    sample = self._sample(batch, place)
                except Exception as error:  # of the user's code
                    step = self._reader.at
                    if self._mender.raises:
                        row = int(batch.rows[place])
                        return Assembled(None, 1, failed_here(error, row, position, step))
                    sample = Failed(complaint(error, step, __file__, HERE))
                if place not in batch.found:
                    took_s.append(time.perf_counter() - begun)
                if isinstance(sample, Failed):
                    wrong.append((position, sample.reason))
                else:
                    samples.append(sample)
                    good.append(place)
        drew = None if before is None else random_state() != before
        self._loader.note_read_here(took_s, drew=drew)
        given = Samples(samples, batch.rows[good])
        mended = self._mender.mended_samples(given, good, len(batch.rows))
        return self._assembled(mended, wrong)

    def good_rows(self, batch: Deliver, count: int) -> list[int]:
        """Return the rows of a batch that was made of `count` samples."""
        failed = {position for position, _ in self._failed(batch)}
        positions = self._source.positions(batch).tolist()
        if len(positions) != count:  # those that failed were left out, not replaced
            positions = [position for position in positions if position not in failed]
        return [self._loader.row_at(position) for position in positions]

    def _sample(self, batch: Unread, place: int) -> Any:
        """Return the sample at a place of a batch, or why there is none."""
        assert self._reader is not None
        reason = batch.failed.get(batch.positions[place])
        if reason is not None and not self._may_try_here(reason):
            return Failed(reason)
        key = batch.keys[place]
        if place not in batch.found:
            sample = self._reader.sample(int(batch.rows[place]), key)
        else:
            sample = batch.found[place]
            # Others prepared only the shared part; a job without workers does its own part here.
            if self._loader.reads_itself and not isinstance(sample, Failed):
                sample = self._reader.finished(sample, key)
        if reason is not None:
            self._say_here(reason)
        return sample

    def _may_try_here(self, reason: str) -> bool:
        """Tell whether a row that failed in a worker is worth a try in the job.

        Not if it ended its worker, took too long, or ran out of memory: it would do so here.
        """
        if not was_raised(reason) or issubclass(class_of(reason) or Exception, MemoryError):
            return False
        return self._loader.tries_here or _better_here(reason) is not None

    def _say_here(self, reason: str) -> None:
        # What another job's worker found, which has not asked for any, is of no interest to users.
        found = class_of(reason)
        if not (self._said_here or (found and issubclass(found, BetterInTheJob))):
            self._said_here = True
            log.warning(
                "a row cannot be prepared in a worker process and can be in this one, so the job "
                "does it, and all others like it (num_workers=0 reads all rows here): %s",
                without_class(reason).strip().splitlines()[-1],
            )

    def _assembled(
        self, mended: Slots | Samples | None, failed: list[tuple[int, str]]
    ) -> Assembled:
        """Have the first failure of a batch raised, or name all of them in the log."""
        nothing_left = mended is None and not self._mender.leaves_out
        if failed and (self._mender.raises or nothing_left):
            position, reason = failed[0]
            error = failed_elsewhere(reason, self._loader.row_at(position), position)
            return Assembled(None, len(failed), error)
        for position, reason in failed:
            self._mender.name(position, self._loader.row_at(position), reason)
        return Assembled(mended, len(failed), None)

    def _failed(self, batch: Deliver) -> list[tuple[int, str]]:
        """Return the positions of the dataset that failed, with the reasons."""
        numbers, reasons = batch.positions.tolist(), dict(batch.failed)
        positions = zip(numbers, self._source.positions(batch).tolist(), strict=True)
        return [(position, reasons[n]) for n, position in positions if n in reasons]


def better_here(batch: Deliver) -> type[Exception] | None:
    """Return what a worker found that speaks for reading in the job, if it did.

    A sample that cannot travel is one of many, mostly.
    """
    return next((kind for _, reason in batch.failed if (kind := _better_here(reason))), None)


def _better_here(reason: str) -> type[Exception] | None:
    kind = class_of(reason)
    return kind if kind and issubclass(kind, BetterInTheJob | CannotTravel) else None
