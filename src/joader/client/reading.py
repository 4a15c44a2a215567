"""A loader as one of its passes knows it, where the next may read another version of a table.

A pass keeps the rows it began with, also when it has to register with another daemon. What it
leaves is used again only if the loader still reads the same.
"""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from joader.client.alone import Alone
from joader.client.collating import Slots
from joader.client.connection import Connection
from joader.client.job import Job
from joader.client.joining import Joining
from joader.client.passing import Owner
from joader.errors import WorldError
from joader.messages import BatchReady

Rows = NDArray[np.int64]


class Loader(Owner, Protocol):
    """What is needed of the loader."""

    def connect(self, batch_size: int = 0, job: Job | None = None) -> Connection | Alone:
        """Register a job with the daemon."""
        ...

    def alone(self, error: WorldError, job: Job | None = None) -> Alone:
        """Do a job without a daemon."""
        ...

    def reads(self, job: Job) -> bool:
        """Tell whether the next pass is of this job, too."""
        ...

    def collated(self, slots: Slots, joined: Joining | None = None) -> Any:
        """Copy a batch out of shared memory."""
        ...


class Reading:
    """A loader as a pass knows it: it keeps the version that the pass began with."""

    def __init__(self, loader: Loader, job: Job, joined: Joining) -> None:
        """Take the loader as it is now."""
        self._loader, self._job, self._joined = loader, job, joined
        self._length = len(loader)
        self.on_error = loader.on_error

    @property
    def timeout_s(self) -> float:
        """How long a batch may take."""
        return self._loader.timeout_s

    @property
    def goes_on_elsewhere(self) -> bool:
        """Whether a pass may go on with another daemon."""
        return self._loader.goes_on_elsewhere

    def connect(self, batch_size: int = 0) -> Connection | Alone:
        """Register with the daemon, for the rows of this pass."""
        return self._loader.connect(batch_size, self._job)

    def alone(self, error: WorldError) -> Alone:
        """Go on without a daemon."""
        return self._loader.alone(error, self._job)

    def keep(self, connection: Connection | Alone) -> None:
        """Keep a connection for the next pass, if that has the same rows."""
        if self._loader.reads(self._job):
            self._loader.keep(connection)
        else:
            connection.close()

    def row_at(self, position: int) -> int:
        """Return the row that a position stands for."""
        return int(self._job.rows[position])

    def rows_at(self, positions: Rows) -> Rows:
        """Return the rows that positions stand for."""
        return self._job.rows[positions]

    def collated(self, slots: Slots) -> Any:
        """Copy a batch out of shared memory."""
        return self._loader.collated(slots, self._joined)

    def finished(self, data: Any) -> Any:
        """Apply the batch transform."""
        return self._loader.finished(data)

    def count(self, batch: BatchReady, wait_s: float, replaced: int, alone: bool) -> None:
        """Count a batch that was yielded."""
        self._loader.count(batch, wait_s, replaced, alone)

    def __len__(self) -> int:
        """Return the number of batches of a full pass."""
        return self._length
