"""`joader.DataLoader`: what a training script iterates over.

Each `iter()` is a new pass. An iterator asks for AHEAD batches at a time, copies each out of shared
memory into a private one, gives the slots back, and only then yields: what a user does to a batch
reaches nobody else. The loader knows what was yielded (`Progress`); that is its state.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import cloudpickle
import msgspec

from joader.client.connection import Connection
from joader.client.fingerprint import fingerprint
from joader.client.progress import Progress, restored
from joader.client.unwrapped import unwrap
from joader.errors import BadArgument, ConnectionLost, NoDaemon, Overdue, RowFailed
from joader.memory import Ring, gather, read
from joader.messages import (
    AskStats,
    BatchReady,
    Body,
    Environment,
    GiveBack,
    JobStats,
    NextBatch,
    Register,
    StartPass,
    packed,
    unpacked,
)

AHEAD = 2
ORDERS = ("shared", "seeded")
_STATS_S = 10.0


@dataclass(frozen=True)
class LoaderStats:
    """What a loader got: delivered = hits + prepared; `shared` hits came from other jobs' work."""

    delivered: int
    prepared: int
    hits: int
    shared: int
    wait_s: float
    epoch: int


class DataLoader:
    """Iterate over batches of a map-style dataset, prepared once for all jobs that need them.

    `order`: with `shuffle=True`, "shared" (default) draws jointly with other jobs; "seeded" makes
    the order a pure function of seed and epoch. `deterministic=True` says that the dataset has no
    random code, so that a preparation may be kept and serve a job again. `key` replaces the
    fingerprint of the dataset. `batch_transform` is applied to the collated batch.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int = 1,
        shuffle: bool = False,
        *,
        drop_last: bool = False,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        batch_transform: Callable[[Any], Any] | None = None,
        seed: int = 0,
        order: str = "shared",
        deterministic: bool = False,
        key: str | None = None,
        job: str | None = None,
        timeout: float = 120.0,
        address: str | None = None,
        as_numpy: bool = False,
        num_workers: int = 0,
    ) -> None:
        """Look at the dataset; nothing is started before the first `iter()`."""
        if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
            raise BadArgument(f"batch_size is {batch_size!r}; it is an integer above 0")
        if order not in ORDERS:
            raise BadArgument(f"order is {order!r}; there are {', '.join(ORDERS)}")
        if not timeout > 0:
            raise BadArgument(f"timeout is {timeout!r}; it is above 0, and 120 s by default")
        self.dataset = dataset
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.num_workers = num_workers  # a hint; the daemon's workers serve all jobs
        self._shuffle = shuffle
        self._collate = collate_fn
        self._batch_transform = batch_transform
        self._seed = seed
        self._order = order if shuffle else "given"
        self._timeout_s = timeout
        self._address = address
        self._as_numpy = as_numpy
        base = unwrap(dataset)
        self._base = base.base
        self._rows = base.rows
        self._row_limit = len(base.base)
        self._fresh = not deterministic
        self._named = key is not None
        self._key = key or fingerprint(base.base)
        self._name = job or os.path.basename(sys.argv[0] or "python")
        self._epoch = 0
        self._resume: Progress | None = None
        self._latest: _Pass | None = None
        self._idle: Connection | None = None
        self._ring = Ring()
        self._wait_s = 0.0

    def __len__(self) -> int:
        """Return the number of batches of a full pass."""
        full, rest = divmod(len(self._rows), self.batch_size)
        return full + (1 if rest and not self.drop_last else 0)

    def __iter__(self) -> Iterator[Any]:
        """Begin a pass."""
        progress = self._resume or Progress(len(self._rows), self._epoch)
        self._resume = None
        self._epoch = progress.epoch + 1
        connection, self._idle = self._idle, None
        if connection is None or not connection.of_this_process:
            connection = self._connected()
        self._latest = _Pass(self, connection, progress)
        return self._latest

    def set_epoch(self, epoch: int) -> None:
        """Number the next pass; matters to `order="seeded"`."""
        if isinstance(epoch, bool) or not isinstance(epoch, int) or epoch < 0:
            raise BadArgument(f"epoch is {epoch!r}; an epoch is an integer >= 0")
        self._epoch = epoch
        self._resume = None

    def state_dict(self) -> dict[str, Any]:
        """Return what was yielded of the current pass, as small plain data."""
        progress = self._resume
        if progress is None and self._latest is not None and not self._latest.complete:
            progress = self._latest.progress
        if progress is None:
            progress = Progress(len(self._rows), self._epoch)
        return progress.state(self._key, self._seed, self._order)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a state at the next `iter()`."""
        self._resume = restored(state, self._key, len(self._rows))

    def stats(self) -> LoaderStats:
        """Return what the current job got so far."""
        connection = self._latest.connection if self._latest else self._idle
        figures = JobStats(0, 0, 0, 0)
        if connection is not None and connection.of_this_process:
            figures = connection.ask(AskStats(), JobStats, _STATS_S)
        epoch = self._latest.progress.epoch if self._latest else self._epoch
        return LoaderStats(
            figures.delivered,
            figures.prepared,
            figures.hits,
            figures.shared,
            round(self._wait_s, 3),
            epoch,
        )

    def close(self) -> None:
        """End the job; the loader may be used again."""
        if self._latest is not None:
            self._latest.close()
        if self._idle is not None:
            self._idle.close()
            self._idle = None

    def __enter__(self) -> "DataLoader":
        """Close at the end of the block."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close."""
        self.close()

    def _connected(self) -> Connection:
        connection = Connection(self._address)
        path = tuple(os.path.abspath(entry) for entry in sys.path)
        environment = Environment(sys.executable, path, os.getcwd())
        spec = Register(
            self._name,
            self._key if self._named else f"{self._key} in {_digest(environment)}",
            packed(self._rows),
            self._row_limit,
            self.batch_size,
            self._order,
            self._seed,
            self._fresh,
            environment,
        )
        connection.register(spec, Body(cloudpickle.dumps(self._base)))
        return connection


class _Pass:
    """One iteration: asks ahead, copies, gives back, yields."""

    def __init__(self, loader: DataLoader, connection: Connection, progress: Progress) -> None:
        self._loader = loader
        self.connection = connection
        self.progress = progress
        self._left = len(loader._rows) - progress.count
        if loader.drop_last:
            self._left -= self._left % loader.batch_size
        self._unasked = self._left
        connection.send(StartPass(progress.epoch, packed(progress.positions())))
        for _ in range(AHEAD):
            self._ask()

    @property
    def complete(self) -> bool:
        """Whether everything was yielded."""
        return self._left <= 0

    def __iter__(self) -> "_Pass":
        return self

    def __next__(self) -> Any:
        if self.complete:
            self._finish()
            raise StopIteration
        started = time.perf_counter()
        try:
            batch = self.connection.batch(self._loader._timeout_s)
        except TimeoutError as error:
            raise Overdue(
                f"no batch came from the daemon (process {self.connection.daemon_pid}) in "
                f"{self._loader._timeout_s} s; is a row's preparation that slow? "
                "See `joader status`, or give a larger timeout="
            ) from error
        except ConnectionLost as error:
            raise NoDaemon(
                f"the daemon (process {self.connection.daemon_pid}) is gone in the middle of a "
                "pass; state_dict() holds what was yielded: a new loader that loads it goes on "
                "from there, with a new daemon"
            ) from error
        self._loader._wait_s += time.perf_counter() - started
        positions = unpacked(batch.positions)
        self._left -= len(positions) + len(batch.failed)
        if batch.failed:
            self._raise(batch)
        data = self._data(batch)
        self.connection.send(GiveBack(batch.samples))
        self._ask()
        self.progress.note(positions)
        transform = self._loader._batch_transform
        return transform(data) if transform else data

    def _data(self, batch: BatchReady) -> Any:
        """Copy a batch out of shared memory."""
        loader = self._loader
        layouts = self.connection.layouts(batch)
        memory = self.connection.memory
        offsets = unpacked(batch.offsets)
        if loader._collate is None:
            tensors = False if loader._as_numpy else None
            copied = gather(
                layouts,
                memory,
                offsets,
                tensors=tensors,
                allocate=loader._ring.lend,
                allow_pickle=True,
            )
            if copied.collated:
                return copied.data
            samples = copied.data
        else:
            samples = [
                read(layout, memory[offset:], allow_pickle=True)
                for layout, offset in zip(layouts, offsets.tolist(), strict=True)
            ]
        return (loader._collate or _as_list)(samples)

    def _ask(self) -> None:
        if self._unasked > 0:
            count = min(self._loader.batch_size, self._unasked)
            self._unasked -= count
            self.connection.send(NextBatch(count))

    def _raise(self, batch: BatchReady) -> None:
        """Raise the first failure of a batch, as the user's own code did."""
        position, reason = batch.failed[0]
        row = int(self._loader._rows[position])
        self.close()
        raise RowFailed(f"row {row} (position {position}) could not be prepared:\n{reason}")

    def _finish(self) -> None:
        """Give the connection back for the next pass."""
        loader = self._loader
        if self.connection.of_this_process and loader._idle is None:
            loader._idle = self.connection

    def close(self) -> None:
        """End the pass where it is; the daemon frees what it held."""
        self.connection.close()

    def __del__(self) -> None:
        if not self.complete:
            self.connection.close()


def _digest(environment: Environment) -> str:
    """Name an environment: the same code may read other files in another folder."""
    return blake2b(msgspec.json.encode(environment), digest_size=8).hexdigest()


def _as_list(samples: list[Any]) -> list[Any]:
    torch = sys.modules.get("torch")
    if torch is not None:
        return torch.utils.data.default_collate(samples)  # type: ignore[no-any-return]
    return samples
