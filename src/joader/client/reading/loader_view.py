"""A loader as one of its passes knows it: the job is what the dataset was when the pass began.

A dataset may change between two passes, and a table may have a newer version. A pass keeps what it
began with, also when it has to register with another daemon. What it leaves is used again only if
the loader still reads the same.
"""

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from joader.client import torch_api
from joader.client.dataset.joined_columns import Joining
from joader.client.reading.collate import Samples, Slots
from joader.client.reading.connection import Connection
from joader.client.reading.in_job import InJob
from joader.client.reading.job import Job
from joader.client.reading.no_daemon import Alone
from joader.client.reading.torch_workers import InWorkers, Request
from joader.errors import WorldError
from joader.messages import Deliver

Rows = NDArray[np.int64]


class Loader(Protocol):
    """What is needed of the loader."""

    on_error: str

    @property
    def timeout_s(self) -> float:
        """How long a batch may take."""
        ...

    @property
    def goes_on_elsewhere(self) -> bool:
        """Whether a pass may go on with another daemon."""
        ...

    @property
    def tries_here(self) -> bool:
        """Whether rows that fail in a worker are tried in the job."""
        ...

    @property
    def seeded(self) -> bool:
        """Whether random numbers are a function of seed and epoch."""
        ...

    def connect(self, batch_size: int, job: Job) -> Connection | Alone:
        """Register a job with the daemon."""
        ...

    def alone(self, error: WorldError, job: Job) -> Alone:
        """Do a job without a daemon."""
        ...

    def keep(self, connection: Connection | Alone, job: Job) -> None:
        """Keep a connection for the next pass, if that is of the same job."""
        ...

    @property
    def persistent_workers(self) -> bool:
        """Whether workers outlive a pass."""
        ...

    def without_workers(self) -> Job:
        """Bring no workers from now on; return the job as it is then."""
        ...

    def in_private(self, row: int) -> Job:
        """Share nothing from now on; return the job as it is then."""
        ...

    def collated(self, whole: Slots | Samples, joined: Joining | None) -> Any:
        """Make a batch."""
        ...

    def finished(self, data: Any) -> Any:
        """Apply the batch transform."""
        ...

    def count(self, batch: Deliver, wait_s: float, failed: int, replaced: int, alone: bool) -> None:
        """Count a batch that was yielded."""
        ...

    def __len__(self) -> int:
        """Return the number of batches of a full pass."""
        ...


class Reading:
    """A loader, its job and what joins its samples, as one pass knows them."""

    def __init__(self, loader: Loader, job: Job, joined: Joining | None) -> None:
        """Take the loader as it is now."""
        self._loader, self._job, self._joined = loader, job, joined
        self.on_error = loader.on_error
        self.goes_on_elsewhere = loader.goes_on_elsewhere
        self.reads_itself = job.lending is None
        self.tries_here = loader.tries_here and not self.reads_itself
        # As with torch, state that user code keeps in a worker ends with the pass.
        self.renews = job.fresh and not loader.persistent_workers

    @property
    def timeout_s(self) -> float:
        """How long a batch may take."""
        return self._loader.timeout_s

    def connect(self, batch_size: int = 0) -> Connection | Alone:
        """Register with the daemon, for the rows of this pass."""
        return self._loader.connect(batch_size, self._job)

    def alone(self, error: WorldError) -> Alone:
        """Go on without a daemon."""
        return self._loader.alone(error, self._job)

    def connect_without_workers(self) -> Connection | Alone:
        """Register anew, as a job that reads by itself what nobody has prepared."""
        self._job = self._loader.without_workers()
        self.reads_itself, self.tries_here = True, False
        return self.connect()

    def connect_in_private(self, row: int) -> Connection | Alone:
        """Register anew, as a job that shares nothing: a row came out otherwise than others'."""
        self._job = self._loader.in_private(row)
        return self.connect()

    def in_job(self) -> InJob:
        """Return who reads rows in this process."""
        return self._job.in_job(seeded=self._loader.seeded)

    def in_workers(self, requests: Iterator[Request]) -> InWorkers | None:
        """Return torch's workers for a pass without a daemon, if the user gave any."""
        lending = self._job.lending
        if lending is None or not lending.workers or torch_api.loaded() is None:
            return None
        return InWorkers(self._job, requests, self.timeout_s)

    def keep(self, connection: Connection | Alone) -> None:
        """Keep a connection for the next pass, if that has the same rows."""
        self._loader.keep(connection, self._job)

    def row_at(self, position: int) -> int:
        """Return the row that a position stands for."""
        return int(self._job.rows[position])

    def rows_at(self, positions: Rows) -> Rows:
        """Return the rows that positions stand for."""
        return self._job.rows[positions]

    def collated(self, whole: Slots | Samples) -> Any:
        """Copy a batch out of shared memory, or make it of samples."""
        return self._loader.collated(whole, self._joined)

    def finished(self, data: Any) -> Any:
        """Apply the batch transform."""
        return self._loader.finished(data)

    def count(self, batch: Deliver, wait_s: float, failed: int, replaced: int, alone: bool) -> None:
        """Count a batch that was yielded."""
        self._loader.count(batch, wait_s, failed, replaced, alone)

    def __len__(self) -> int:
        """Return the number of batches of a full pass."""
        return len(self._loader)
