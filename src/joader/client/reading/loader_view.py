"""A loader as one of its passes knows it: the job is what the dataset was when the pass began.

A dataset may change between two passes, and a table may have a newer version. A pass keeps what it
began with, also when it has to register with another daemon. What it leaves is used again only if
the loader still reads the same.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from joader.client import torch_api
from joader.client.counts import Counts
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

Rows = NDArray[np.int64]


class Loader(Protocol):
    """What is needed of the loader: how it is set, also if that changes during the pass."""

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
        self._job, self._joined = sight.job, sight.joined
        self.on_error = loader.on_error
        self.goes_on_elsewhere = current.settings.rank is None  # ranks do not, one by one
        self.reads_itself = self._job.lending is None
        # Rows that fail in a worker: the user did not ask for one, and without torch reads here.
        self.tries_here = current.settings.num_workers is None and not self.reads_itself
        # As with torch, state that user code keeps in a worker ends with the pass.
        self.renews = self._job.fresh and not loader.persistent_workers

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

    def alone(self, error: WorldError) -> Alone:
        """Go on without a daemon."""
        try:
            return self._current.alone(error, self._job)
        finally:
            del error  # no ring with the traceback

    def connect_without_workers(self, why: type[Exception]) -> Connection | Alone:
        """Register anew, as a job that reads by itself what nobody has prepared."""
        self._job = self._with_these_rows(self._current.without_workers(why))
        self.reads_itself, self.tries_here = True, False
        return self.connect()

    def connect_in_private(self, row: int) -> Connection | Alone:
        """Register anew, as a job that shares nothing: a row differs from that of others."""
        self._job = self._with_these_rows(self._current.in_private(row))
        return self.connect()

    def _with_these_rows(self, job: Job) -> Job:
        """Return a job for the rest of a pass: its dataset may have grown since that began."""
        if np.array_equal(job.rows, self._job.rows):
            return job
        return replace(job, rows=self._job.rows, row_limit=self._job.row_limit)

    def note_read_here(self, rows: int, seconds: float) -> None:
        """Note how long rows took that were read in this process."""
        self._current.note_read_here(rows, seconds)

    def in_job(self) -> InJob:
        """Return who reads rows in this process."""
        return self._job.in_job(seeded=self._loader.order == "seeded")

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
        return int(self._job.rows[position])

    def rows_at(self, positions: Rows) -> Rows:
        """Return the rows that positions stand for."""
        return self._job.rows[positions]

    def collated(self, whole: Slots | Samples) -> Any:
        """Copy a batch out of shared memory, or make it of samples."""
        return self._loader.batch_maker.collated(whole, self._joined)

    def finished(self, data: Any) -> Any:
        """Apply the batch transform."""
        return self._loader.batch_maker.finished(data)

    def count(self, batch: Deliver, wait_s: float, failed: int, replaced: int, alone: bool) -> None:
        """Count a batch that was yielded."""
        self._counts.note(batch, wait_s, failed, replaced, alone)
        if not alone:
            tally.note(batch, wait_s)

    def __len__(self) -> int:
        """Return the number of batches of a full pass."""
        return len(self._loader)
