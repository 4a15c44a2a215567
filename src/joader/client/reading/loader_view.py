"""A loader as one of its passes knows it: the job is what the dataset was when the pass began.

A dataset may change between two passes, and a table may have a newer version. A pass keeps what it
began with, also when it has to register with another daemon. What it leaves is used again only if
the loader still reads the same.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from joader.client import torch_api
from joader.client.counts import Counts
from joader.client.dataset.ground import NO_GROUND
from joader.client.farewell import tally
from joader.client.reading.batch_maker import BatchMaker
from joader.client.reading.collate import Samples, Slots
from joader.client.reading.connection import Connection
from joader.client.reading.current_job import CurrentJob
from joader.client.reading.in_job import InJob
from joader.client.reading.job import Job
from joader.client.reading.look import Sight
from joader.client.reading.no_daemon import Alone
from joader.client.reading.torch_workers import InWorkers, Request
from joader.errors import WorldError
from joader.messages import Deliver
from joader.recipe.glance import Glance

Rows = NDArray[np.int64]


class Loader(Protocol):
    """What is needed of the loader: how it is set, also if that changes during the pass."""

    dataset: Any
    on_error: str
    order: str
    address: str | None

    @property
    def timeout_s(self) -> float:
        """How long a batch may take."""
        ...

    @property
    def persistent_workers(self) -> bool:
        """Whether workers outlive a pass."""
        ...

    @property
    def batch_maker(self) -> BatchMaker:
        """What makes its batches."""
        ...

    def __len__(self) -> int:
        """Return the number of batches of a full pass."""
        ...


class Reading:
    """A loader and its job, as one pass knows them."""

    def __init__(self, loader: Loader, current: CurrentJob, sight: Sight, counts: Counts) -> None:
        """Take the loader as it is now."""
        # The loader itself, so that `for batch in DataLoader(...)` keeps it alive.
        self._loader, self._current, self._counts = loader, current, counts
        self._joined = sight.joined
        self.on_error = loader.on_error
        self.goes_on_elsewhere = current.settings.rank is None  # ranks do not, one by one
        self._take(sight.job)
        # As with torch, state that user code keeps in a worker ends with the pass.
        self.renews = self._job.fresh and not loader.persistent_workers
        # Every row is read of the dataset as it is by then, in this process.
        self.reads_as_it_is = False
        # If the user asked for workers they have the dataset as it is now, as with torch.
        looks = not current.settings.num_workers and sight.joined is None
        self._glance: Glance | None = self._new_glance() if looks else None

    def _take(self, job: Job) -> None:
        """Be this job from now on."""
        self._job = job
        self.reads_itself = job.lending is None
        # Rows that fail in a worker: the user did not ask for one, and without torch reads here.
        self.tries_here = self._current.settings.num_workers is None and not self.reads_itself

    @property
    def timeout_s(self) -> float:
        """How long a batch may take."""
        return self._loader.timeout_s

    @property
    def waited_s(self) -> float:
        """How long the loader has waited for batches, in all its passes."""
        return self._counts.wait_s

    def connect(self, batch_size: int = 0) -> Connection | Alone:
        """Register with the daemon, for the rows of this pass."""
        return self._current.connect(self._job, batch_size, self._loader.address, self.timeout_s)

    def replace_nursery(self, connection: Connection) -> bool:
        """Have another process bear the workers, as theirs was killed; False: it is another job."""
        return self._current.replace_nursery(connection, self._job)

    def alone(self, error: WorldError) -> Alone:
        """Go on without a daemon."""
        try:
            return self._current.alone(error, self._job)
        finally:
            del error  # no ring with the traceback

    def bring_no_workers(self, why: type[Exception]) -> None:
        """Become a job that reads by itself what nobody has prepared."""
        self._become(self._current.without_workers(why))

    @property
    def asks_after_all(self) -> bool:
        """Whether a pass that needed no daemon is to have one: its rows take long."""
        return not self.reads_as_it_is and self._current.asks_after_all(self._job)

    def ask_after_all(self) -> None:
        """Become a job that asks a daemon, as rows take longer than that does."""
        self._become(self._current.that_asks())

    def _become(self, job: Job) -> None:
        self._take(self._with_these_rows(job))
        if self._glance is not None:
            self._glance = self._new_glance()

    def change(self) -> str:
        """Return what the training loop has changed in the dataset; empty if nothing."""
        return "" if self._glance is None else self._glance.change()

    def change_of(self, positions: Callable[[], Rows]) -> str:
        """Return what it has changed of these positions' rows; empty if nothing."""
        if self._glance is None or not self._glance.looks_at_rows:
            return ""
        return self._glance.change_of(self._job.rows[positions()])

    def note_own_changes(self) -> None:
        """Take the dataset as it is for unchanged: rows were read of it in this process."""
        if self._glance is not None and self._glance.change():
            self._glance = self._new_glance()

    def read_as_it_is(self, what: str) -> bool:
        """Read every row that is left in this process, whatever was read ahead or by others.

        Return whether the job is another to the daemon from now on: it brings no workers, and its
        name is nobody else's. Ranks cannot register one by one, so they stay what they are.
        """
        self._glance, self.reads_as_it_is, self.tries_here = None, True, False
        read_itself, self.reads_itself = self.reads_itself, True
        if not read_itself:
            self._current.say_changed(what)
        if read_itself or not self.goes_on_elsewhere:
            return False
        private = f"{self._job.private} changed by {self._current.settings.whose}"
        job = replace(self._job, lending=None, private=private, ground=NO_GROUND, stored="")
        self._job = job
        return True

    def _new_glance(self) -> Glance:
        # Reading may fill what has an element per row; then a change says nothing of the loop.
        return Glance(self._loader.dataset, 0 if self.reads_itself else self._job.row_limit)

    def connect_in_private(self, row: int) -> Connection | Alone:
        """Register anew, as a job that shares nothing: a row differs from that of others."""
        self._take(self._with_these_rows(self._current.in_private(row)))
        return self.connect()

    def _with_these_rows(self, job: Job) -> Job:
        """Return a job for the rest of a pass: its dataset may have grown since that began."""
        if np.array_equal(job.rows, self._job.rows):
            return job
        return replace(job, rows=self._job.rows, row_limit=self._job.row_limit)

    def watch_here(self) -> bool:
        """Tell whether the rows that are read here next are to be watched."""
        return self._loader.order != "seeded" and self._current.watch_here()

    def note_read_here(self, took_s: Sequence[float], *, drew: bool | None) -> None:
        """Note how long rows took that were read in this process."""
        self._current.note_read_here(took_s, drew=drew)

    def in_job(self) -> InJob:
        """Return who reads rows in this process."""
        job = self._job
        if self.reads_as_it_is:  # by position, as `Subset`s may have changed, too
            shared = replace(job.shared, dataset=self._loader.dataset)
            job = replace(job, shared=shared, lending=None)
        return job.in_job(seeded=self._loader.order == "seeded")

    def in_workers(self, requests: Iterator[Request]) -> InWorkers | None:
        """Return torch's workers for a pass without a daemon, if the user gave any."""
        lending = self._job.lending
        if lending is None or not lending.workers or torch_api.loaded() is None:
            return None
        return InWorkers(self._job, requests, self.timeout_s)

    def keep(self, connection: Connection | Alone) -> None:
        """Keep a connection for the next pass, if that has the same rows."""
        self._current.keep(connection, self._job)

    def row_at(self, position: int) -> int:
        """Return the row that a position stands for."""
        return position if self.reads_as_it_is else int(self._job.rows[position])

    def rows_at(self, positions: Rows) -> Rows:
        """Return the rows that positions stand for."""
        return positions if self.reads_as_it_is else self._job.rows[positions]

    def collated(self, whole: Slots | Samples) -> Any:
        """Copy a batch out of shared memory, or make it of samples."""
        return self._loader.batch_maker.collated(whole, self._joined)

    def finished(self, data: Any) -> Any:
        """Apply the batch transform."""
        return self._loader.batch_maker.finished(data)

    def count(
        self, batch: Deliver, wait_s: float, failed: int, replaced: int, by: Connection | Alone
    ) -> None:
        """Count a batch that was yielded."""
        if self.reads_as_it_is:
            batch = structs.replace(batch, prepared=batch.positions.size, shared=0)
        fell_back = isinstance(by, Alone) and not by.chosen
        self._counts.note(batch, wait_s, failed, replaced, fell_back)
        if isinstance(by, Connection):
            tally.note(batch, wait_s)

    def __len__(self) -> int:
        """Return the number of batches of a full pass."""
        return len(self._loader)
