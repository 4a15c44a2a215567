"""`joader.DataLoader`: what a training script iterates over.

The loader looks at its dataset and arguments, names the recipe, and knows what was yielded and
counted; a pass over it is a `Pass` (passing.py). Each `iter()` is a new pass.
"""

import os
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import cloudpickle
import msgspec

from joader.client.code_time import code_time
from joader.client.connection import Connection
from joader.client.fingerprint import fingerprint
from joader.client.passing import Pass
from joader.client.progress import Progress, restored
from joader.client.unwrapped import unwrap
from joader.errors import BadArgument, ConnectionLost
from joader.memory import Ring, gather, read
from joader.messages import BatchReady, Body, Environment, Register, packed, unpacked
from joader.sampling.sampler import checked_seed

ORDERS = ("shared", "seeded")
CONNECT_TRIES = 3
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
    fingerprint of the dataset. `transform` is the job's own part: applied in the workers to each
    sample, for this job alone; `batch_transform` is applied here to the collated batch.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int = 1,
        shuffle: bool = False,
        *,
        drop_last: bool = False,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        transform: Callable[[Any], Any] | None = None,
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
        functions = {
            "collate_fn": collate_fn,
            "transform": transform,
            "batch_transform": batch_transform,
        }
        _check(batch_size, order, timeout, functions, torch_only)
        checked_seed(seed)
        self.dataset = dataset
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.num_workers = num_workers  # a hint; the daemon's workers serve all jobs
        self._collate = collate_fn
        self._transform = transform
        self._batch_transform = batch_transform
        self._seed = seed
        self._order = order if shuffle else "given"
        self.timeout_s = timeout
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
        self._passes: dict[int, int] = {}  # begun, by epoch
        self._latest: weakref.ref[Pass] | None = None
        self._idle: Connection | None = None
        self._ring = Ring()
        self._delivered = self._prepared = self._shared = 0
        self._wait_s = 0.0

    def __len__(self) -> int:
        """Return the number of batches of a full pass."""
        full, rest = divmod(len(self._rows), self.batch_size)
        return full + (1 if rest and not self.drop_last else 0)

    def __iter__(self) -> Iterator[Any]:
        """Begin a pass."""
        progress = self._resume or Progress(len(self._rows), self._epoch, self._new_key())
        self._resume = None
        self._epoch = progress.epoch + 1
        connection, self._idle = self._idle, None
        if connection is None or not connection.usable_here:
            connection = self.connect()
        self._progress = progress
        latest = Pass(self, connection, progress, self._batch_transform)
        self._latest = weakref.ref(latest)  # a pass that was broken off must go when it is dropped
        return latest

    def _new_key(self) -> int:
        """Return where a new pass's random numbers start: new ones, or the seed's."""
        if self._order != "seeded":
            return int.from_bytes(os.urandom(8)) >> 1
        number = self._passes.get(self._epoch, 0)
        self._passes[self._epoch] = number + 1
        name = f"{self._seed} {self._epoch} {number}".encode()
        return int.from_bytes(blake2b(name, digest_size=8).digest()) >> 1

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
        """Return what the loader's passes have yielded so far."""
        epoch = self._progress.epoch if self._progress else self._epoch
        return LoaderStats(
            self._delivered,
            self._prepared,
            self._delivered - self._prepared,
            self._shared,
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

    # What a pass asks of its loader.

    def connect(self) -> Connection:
        """Register with the daemon, starting one if there is none."""
        for _ in range(CONNECT_TRIES - 1):
            with suppress(ConnectionLost):  # one that was ending let us in
                return self._registered(Connection(self._address))
        return self._registered(Connection(self._address))

    def _registered(self, connection: Connection) -> Connection:
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
            _pickled(self._transform, "transform") if self._transform else b"",
        )
        connection.register(spec, lambda: Body(_pickled(self._base, "dataset")))
        return connection

    def keep(self, connection: Connection) -> None:
        """Keep the connection of a pass that has ended for the next: it is the same job."""
        if self._idle is None:
            self._idle = connection
        elif self._idle is not connection:
            connection.close()

    def row_at(self, position: int) -> int:
        """Return the row of the base dataset that a position stands for."""
        return int(self._rows[position])

    def count(self, batch: BatchReady, wait_s: float) -> None:
        """Count a batch that was yielded."""
        self._delivered += len(batch.layouts)
        self._prepared += batch.prepared
        self._shared += batch.shared
        self._wait_s += wait_s

    def collated(self, connection: Connection, batch: BatchReady) -> Any:
        """Copy a batch out of shared memory."""
        layouts = connection.layouts(batch)
        memory = connection.memory
        offsets = unpacked(batch.offsets)
        if self._collate is None:
            copied = gather(
                layouts,
                memory,
                offsets,
                tensors=False if self._as_numpy else None,
                allocate=self._ring.lend,
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
        return (self._collate or _as_list)(samples)


def _check(
    batch_size: object,
    order: str,
    timeout: float,
    functions: Mapping[str, object],
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
    for name, function in functions.items():
        if function is not None and not callable(function):
            raise BadArgument(f"{name} is {function!r}; it is a function, or None")


def _pickled(code: Any, what: str) -> bytes:
    try:
        return bytes(cloudpickle.dumps(code))
    except Exception as error:
        raise BadArgument(
            f"the {what} cannot be sent to the worker processes: {error}; open files and "
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
