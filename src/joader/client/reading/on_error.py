"""What becomes of rows that could not be prepared: `on_error` of a loader.

*raise*: `RowFailed`, and the next batch is another. *skip*: the row is left out, its batch smaller;
of a batch without a good row nothing is yielded. *replace*: the nearest good row of its batch comes
a second time; in a batch without one, the last good row of the batches before. What comes a second
time is an object of its own: what the user does to one sample must not reach another.

Ranks take equally many steps, whatever fails on one of them: if nothing is left of a rank's part
of a step, `skip` does as `replace` does. In every case the positions count as read.
"""

import logging
from contextlib import suppress
from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from joader.client.reading.collate import Samples, Slots
from joader.errors import RowFailed
from joader.memory import read
from joader.memory.layout import LINE_BYTES
from joader.messages import Deliver
from joader.workers.complaint import (
    class_of,
    complaint,
    fields_of,
    file_of,
    made,
    without_class,
)

# So many rows of a pass are named in the log, if they fail; all are counted.
MOST_NAMED = 10
HERE = "the job itself, process"

log = logging.getLogger("joader")


class Mender:
    """Makes whole what comes of the batches of one pass."""

    def __init__(self, on_error: str, equal_steps: bool) -> None:
        """Skip or replace; with equal steps, no batch is left out."""
        self._on_error = on_error
        self._equal_steps = equal_steps
        self._spare: Slots | None = None  # a good sample of the batches before
        self._spare_sample: Samples | None = None  # the same, as an object
        self._named = 0

    @property
    def raises(self) -> bool:
        """Whether a row that failed ends the pass."""
        return self._on_error == "raise"

    def mended(self, batch: Deliver, slots: Slots) -> Slots | None:
        """Return what to make the batch of; None if nothing is left to make it of."""
        size = len(batch.positions)
        if not slots.layouts:
            if self._spare is None or not self._must_fill:
                return None
            layouts, memory, offsets, rows = self._spare
            return Slots(layouts * size, memory, np.repeat(offsets, size), np.repeat(rows, size))
        if self._must_fill:
            # Now: the slots go back to the daemon when this batch is noted.
            self._spare = _copied(slots)
        if not batch.failed or self._on_error != "replace":
            return slots
        sources = nearest(good_places(batch), size)
        layouts = [slots.layouts[source] for source in sources.tolist()]
        return Slots(layouts, slots.memory, slots.offsets[sources], slots.rows[sources])

    def mended_samples(self, given: Samples, good: list[int], size: int) -> Samples | None:
        """Return what to make a batch of objects of; `good` are the places that have one."""
        if not good:
            spare = self._spare_sample or (self._spare and _as_object(self._spare))
            return _repeated(spare, [0] * size) if spare and self._must_fill else None
        if self._must_fill:
            # Now: the user may edit samples in place.
            self._spare_sample = _repeated(given, [len(good) - 1])
        if len(good) == size or self._on_error != "replace":
            return given
        sources = nearest(np.array(good), size)
        failed = np.setdiff1d(np.arange(size), good).tolist()
        copies = _repeated(given, sources[failed].tolist())
        if copies is None:
            return None
        samples = [given.samples[source] for source in sources.tolist()]
        for place, copy in zip(failed, copies.samples, strict=True):
            samples[place] = copy
        return Samples(samples, given.rows[sources])

    @property
    def leaves_out(self) -> bool:
        """Whether a batch without a good row is left out; else it is an error."""
        return self._on_error == "skip" and not self._equal_steps

    def name(self, position: int, row: int, reason: str) -> None:
        """Name a row that failed in the log, if not many have before it."""
        self._named += 1
        if self._named <= MOST_NAMED:
            reason = without_class(reason).strip()
            last = reason.splitlines()[-1] if reason else "no reason is known"
            what = "left out" if self._on_error == "skip" else "replaced by another"
            log.warning(
                "row %d (position %d) could not be prepared and is %s: %s%s",
                *(row, position, what, last),
                " (more of this pass are only counted, in stats())"
                if self._named == MOST_NAMED
                else "",
            )

    @property
    def _must_fill(self) -> bool:
        return self._on_error == "replace" or self._equal_steps


def failed_here(error: Exception, row: int, position: int, step: str) -> Exception:
    """Return what to raise for a row that this job has read itself: what its code raised.

    As torch's loader without workers does. Which row it was is added as a note.
    """
    if isinstance(error, StopIteration):
        # It would end the loop over the loader, as if there were no more batches.
        return failed_elsewhere(complaint(error, step, __file__, HERE), row, position, error)
    with suppress(Exception):  # a part of the exception is user code, too
        file = f", on the file {name}" if (name := file_of(error)) else ""
        note = f"(joader) row {row} (position {position}) could not be prepared: {step} failed"
        if note + file not in getattr(error, "__notes__", ()):  # it may be raised again and again
            error.add_note(note + file)
    return error


def failed_elsewhere(
    reason: str, row: int, position: int, cause: BaseException | None = None
) -> Exception:
    """Return what to raise for a row by what a worker said of it.

    A `RowFailed` that is also what the user's code raised, with the fields of that.
    """
    text = f"row {row} (position {position}) could not be prepared:\n{without_class(reason)}"
    kind, fields = class_of(reason) or RowFailed, fields_of(reason)
    failed: Exception = RowFailed(text)
    with suppress(Exception):  # classes whose instances cannot be one, or not without a field
        failed = both(kind, text, fields)
    if kind is not RowFailed:
        with suppress(Exception):
            cause = cause or made(kind, fields.get("args", ()), fields)
    failed.__cause__ = cause
    return failed


def both(kind: type[Any], text: str, fields: dict[str, Any]) -> Exception:
    """Return a failure that is also of another class, if that is an `Exception`."""
    if not issubclass(kind, Exception) or issubclass(kind, StopIteration | RowFailed):
        return RowFailed(text)
    names = {
        "__module__": kind.__module__,
        # Nobody finds the class by name: what is raised in a pool of processes is pickled.
        "__reduce__": lambda self: (both, (kind, text, fields)),
    }
    joined: Any = type(kind.__name__, (RowFailed, kind), names)
    failed: Exception = made(joined, (text,), fields)
    return failed


def good_places(batch: Deliver) -> NDArray[np.int64]:
    """Return which places of a batch have a sample."""
    failed = [position for position, _ in batch.failed]
    return np.flatnonzero(~np.isin(batch.positions, failed))


def nearest(places: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Return for each place below `size` which of the given ones is nearest, the earlier of two."""
    all_places = np.arange(size)
    after = np.clip(np.searchsorted(places, all_places), 0, len(places) - 1)
    before = np.maximum(after - 1, 0)
    closer = np.abs(places[before] - all_places) <= np.abs(places[after] - all_places)
    return np.where(closer, before, after)


def _repeated(given: Samples, sources: list[int]) -> Samples | None:
    """Return copies of samples that share nothing with them; None if one cannot be copied."""
    try:
        samples = [deepcopy(given.samples[source]) for source in sources]
    except Exception:  # of the user's class, or it has a lock: the row is not replaced
        return None
    return Samples(samples, given.rows[sources])


def _as_object(slots: Slots) -> Samples:
    """Return a spare sample as an object."""
    return Samples([read(slots.layouts[0], slots.memory, allow_pickle=True)], slots.rows)


def _copied(slots: Slots) -> Slots:
    """Return the last of some samples in memory of its own: its slot goes back to the daemon."""
    layout, start = slots.layouts[-1], int(slots.offsets[-1])
    memory = np.zeros(max(1, -(-layout.size_bytes // LINE_BYTES)) * LINE_BYTES, np.uint8)
    memory[: layout.size_bytes] = slots.memory[start : start + layout.size_bytes]
    return Slots([layout], memory, np.zeros(1, np.int64), slots.rows[-1:])
