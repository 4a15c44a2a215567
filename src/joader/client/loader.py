"""`joader.DataLoader`: what a training script iterates over.

Each `iter()` is a new pass. An iterator asks for AHEAD batches at a time, copies each out of shared
memory into a private one, gives the slots back, and only then yields: what a user does to a batch
reaches nobody else. The loader knows what was yielded (`Progress`); that is its state.
"""

import os
import sys
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import cloudpickle
import msgspec

from joader.client.code_time import code_time
from joader.client.connection import Connection
from joader.client.fingerprint import fingerprint
from joader.client.progress import Progress, restored
from joader.client.unwrapped import unwrap
from joader.daemon.lifecycle import log_path
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
from joader.sampling.sampler import checked_seed

AHEAD = 2
ORDERS = ("shared", "seeded")
_STATS_S = 10.0
# Arguments of torch's loader that steer its own workers and cannot change what is read.
WITHOUT_EFFECT = (
    "pin_memory",
    "pin_memory_device",
    "prefetch_factor",
    "persistent_workers",
    "multiprocessing_context",
    "in_order",
)


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
        **torch_only: Any,
    ) -> None:
        """Look at the dataset; nothing is started before the first `iter()`."""
        _check(batch_size, order, timeout, collate_fn, torch_only)
        checked_seed(seed)
        self.dataset = dataset
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.num_workers = num_workers  # a hint; the daemon's workers serve all jobs
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
        self._progress: Progress | None = None  # of the latest pass
        self._latest: weakref.ref[_Pass] | None = None
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
        self._progress = progress
        latest = _Pass(self, connection, progress)
        self._latest = weakref.ref(latest)  # a pass that was broken off must go when it is dropped
        return latest

    def set_epoch(self, epoch: int) -> None:
        """Number the next pass; matters to `order="seeded"`."""
        if isinstance(epoch, bool) or not isinstance(epoch, int) or epoch < 0:
            raise BadArgument(f"epoch is {epoch!r}; an epoch is an integer >= 0")
        self._epoch = epoch
        self._resume = None

    def state_dict(self) -> dict[str, Any]:
        """Return what was yielded of the current pass, as small plain data."""
        progress = self._resume or self._progress
        if progress is None or progress.count >= self._yielded_by_a_pass():
            progress = Progress(len(self._rows), self._epoch)
        return progress.state(self._key, self._seed, self._order)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a state at the next `iter()`."""
        self._resume = restored(state, self._key, len(self._rows))

    def stats(self) -> LoaderStats:
        """Return what the current job got so far."""
        latest = self._latest() if self._latest else None
        connection = latest.connection if latest else self._idle
        figures = JobStats(0, 0, 0, 0)
        if connection is not None and connection.of_this_process:
            figures = connection.ask(AskStats(), JobStats, _STATS_S)
        epoch = self._progress.epoch if self._progress else self._epoch
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
        latest = self._latest() if self._latest else None
        if latest is not None:
            latest.connection.close()
        if self._idle is not None:
            self._idle.close()
            self._idle = None

    def __enter__(self) -> "DataLoader":
        """Close at the end of the block."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close."""
        self.close()

    def _yielded_by_a_pass(self) -> int:
        rest = len(self._rows) % self.batch_size if self.drop_last else 0
        return len(self._rows) - rest

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
            code_time(),
        )
        connection.register(spec, lambda: Body(_pickled(self._base)))
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
        connection.passes += 1
        self._number = connection.passes
        with self._talking():
            done = packed(progress.positions())
            connection.send(StartPass(self._number, progress.epoch, done))
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
            self._give_connection_back()
            raise StopIteration
        if not self.connection.of_this_process:
            raise BadArgument(
                "this pass was begun in another process, or was closed; begin one with iter()"
            )
        started = time.perf_counter()
        with self._talking():
            batch = self._batch()
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

    @contextmanager
    def _talking(self) -> Iterator[None]:
        """Say in the user's words what a lost or silent daemon means."""
        pid = self.connection.daemon_pid
        try:
            yield
        except TimeoutError as error:
            raise Overdue(
                f"no batch came from the daemon (process {pid}) in {self._loader._timeout_s} s; "
                "is a row's preparation that slow, or are all workers busy with other jobs? "
                "See `joader status`, or give a larger timeout="
            ) from error
        except ConnectionLost as error:
            raise NoDaemon(
                f"the daemon (process {pid}) is gone in the middle of a pass; state_dict() holds "
                "what was yielded: a new loader that loads it goes on from there, with a new "
                f"daemon. The old one's log: {log_path()}"
            ) from error

    def _batch(self) -> BatchReady:
        """Return the next batch of this pass; what is left of one broken off goes back."""
        while True:
            batch = self.connection.batch(self._loader._timeout_s)
            if batch.number == self._number:
                return batch
            self.connection.layouts(batch)
            self.connection.send(GiveBack(batch.samples))

    def _data(self, batch: BatchReady) -> Any:
        """Copy a batch out of shared memory."""
        loader = self._loader
        layouts = self.connection.layouts(batch)
        memory = self.connection.memory
        offsets = unpacked(batch.offsets)
        if loader._collate is None:
            copied = gather(
                layouts,
                memory,
                offsets,
                tensors=False if loader._as_numpy else None,
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
        """Raise the first failure of a batch, as the user's own code did; the pass is over."""
        position, reason = batch.failed[0]
        row = int(self._loader._rows[position])
        self._left = 0
        self.connection.close()
        raise RowFailed(f"row {row} (position {position}) could not be prepared:\n{reason}")

    def _give_connection_back(self) -> None:
        """Leave the connection to the loader's next pass: it is the same job."""
        if self.connection.of_this_process:
            if self._loader._idle is None:
                self._loader._idle = self.connection
            elif self._loader._idle is not self.connection:
                self.connection.close()

    def __del__(self) -> None:
        if hasattr(self, "_number"):
            self._give_connection_back()


def _check(
    batch_size: object,
    order: str,
    timeout: float,
    collate_fn: object,
    torch_only: Iterable[str],
) -> None:
    """Say what is wrong with a loader's arguments before anything is done with them."""
    if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
        raise BadArgument(f"batch_size is {batch_size!r}; it is an integer above 0")
    if order not in ORDERS:
        raise BadArgument(f"order is {order!r}; there are {', '.join(ORDERS)}")
    if not timeout > 0:
        raise BadArgument(f"timeout is {timeout!r}; it is above 0, and 120 s by default")
    for name in torch_only:
        if name not in WITHOUT_EFFECT:
            raise BadArgument(
                f"{name} is not supported yet; leave it out (accepted, and without effect "
                f"here: num_workers, {', '.join(WITHOUT_EFFECT)})"
            )
    if collate_fn is not None and not callable(collate_fn):
        raise BadArgument(f"collate_fn is {collate_fn!r}; it is a function of a list")


def _pickled(dataset: Any) -> bytes:
    try:
        return bytes(cloudpickle.dumps(dataset))
    except Exception as error:
        raise BadArgument(
            f"the dataset cannot be sent to the worker processes: {error}; open files and "
            "connections when they are first used, or leave them out in __getstate__"
        ) from error


def _digest(environment: Environment) -> str:
    """Name an environment: the same code may read other files in another folder."""
    return blake2b(msgspec.json.encode(environment), digest_size=8).hexdigest()


def _as_list(samples: list[Any]) -> list[Any]:
    torch = sys.modules.get("torch")
    if torch is not None:
        return torch.utils.data.default_collate(samples)  # type: ignore[no-any-return]
    return samples
