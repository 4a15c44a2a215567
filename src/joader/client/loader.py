"""`joader.DataLoader`: what a training script iterates over.

The loader looks at its dataset and arguments, names the recipe, and keeps what is counted; a pass
over it is a `Pass` (passing.py), in an order from a `Source` (source.py). Each `iter()` is a new
pass. All arguments of torch's loader are taken; what they mean here is said in docs/torch.md.
"""

import os
import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import cloudpickle
import msgspec

from joader.client import torch_loader
from joader.client.arguments import check, steps_of
from joader.client.code_time import code_time
from joader.client.connection import Connection
from joader.client.fingerprint import fingerprint
from joader.client.passing import Pass
from joader.client.progress import Progress, restored
from joader.client.ranks import find_rank, is_distributed
from joader.client.source import Drawn, Source, Told
from joader.client.unwrapped import unwrap
from joader.errors import BadArgument, ConnectionLost
from joader.memory import Ring, gather, read
from joader.messages import BatchReady, Body, Environment, Register, packed, unpacked
from joader.workers.parts import OwnPart, SharedPart

CONNECT_TRIES = 3
# Batches asked for at a time: one in hand and one in preparation; of a sampler's more, as only what
# was asked for is known.
AHEAD, TOLD_AHEAD = 2, 4
# With batch_size=None samples are asked for one by one, so many at a time.
SINGLES = 16


@dataclass(frozen=True)
class LoaderStats:
    """What a loader got: delivered = hits + prepared; `shared` hits came from other jobs' work.

    `repeated`: rows that ranks read again so that all take equally many steps.
    """

    delivered: int
    prepared: int
    hits: int
    shared: int
    wait_s: float
    epoch: int
    repeated: int = 0


class DataLoader:
    """Iterate over batches of a map-style dataset, prepared once for all jobs that need them.

    Every argument of `torch.utils.data.DataLoader` is accepted; `num_workers` is a hint, since the
    daemon's workers serve all jobs. Of its own it has:

    `order`: with `shuffle=True`, "shared" (default) draws jointly with other jobs; "seeded" makes
    the order, and all randomness, a pure function of seed and epoch.
    `prepare`: steps applied to each sample in the workers, shared with every job that has them too.
    `transform`: steps applied in the workers to each sample for this job alone; may be random.
    `batch_transform`: applied here to the collated batch.
    `deterministic=True`: the dataset has no random code, so that a preparation may be kept and
    serve a job again. `key` replaces the fingerprint of the dataset.
    `job`: the job's name; processes of one launcher that name it are its ranks.
    """

    multiprocessing_context: Any = None  # torch's is a property that would check it

    def __new__(cls, *arguments: Any, **named: Any) -> "DataLoader":
        """Make a loader that torch's users know, where torch is loaded."""
        known = torch_loader.joined(cls) if torch_loader.loaded() else cls
        made: DataLoader = object.__new__(known)
        return made

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        batch_sampler: Any = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 120.0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
        prepare: Any = (),
        transform: Any = (),
        batch_transform: Callable[[Any], Any] | None = None,
        seed: int = 0,
        order: str = "shared",
        deterministic: bool = False,
        key: str | None = None,
        job: str | None = None,
        address: str | None = None,
        as_numpy: bool = False,
    ) -> None:
        """Look at the dataset; nothing is started before the first `iter()`."""
        shuffle = check(
            batch_size=batch_size,
            shuffle=shuffle,
            sampler=sampler,
            batch_sampler=batch_sampler,
            drop_last=drop_last,
            order=order,
            seed=seed,
            timeout=timeout,
            functions={
                "collate_fn": collate_fn,
                "batch_transform": batch_transform,
                "worker_init_fn": worker_init_fn,
            },
        )
        self._name = job or os.path.basename(sys.argv[0] or "python")
        self._rank = find_rank(self._name, job is not None, sampler or batch_sampler)
        self._distributed: Any = sampler if self._rank and is_distributed(sampler) else None
        if self._distributed is not None:
            shuffle, seed = bool(self._distributed.shuffle), int(self._distributed.seed)
            drop_last = drop_last or bool(self._distributed.drop_last)
        self.dataset = dataset
        self.batch_size = None if batch_sampler is not None else batch_size
        self.drop_last = drop_last
        self.collate_fn = collate_fn
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.worker_init_fn = worker_init_fn
        self.generator = generator
        self.in_order = in_order
        self.multiprocessing_context = multiprocessing_context
        # Frameworks copy these into loaders of their own, where they would start processes.
        self.num_workers, self.prefetch_factor, self.persistent_workers = 0, None, False
        self.timeout = timeout
        self.timeout_s = timeout or 120.0  # 0 is torch's "for ever"
        self.sampler, self.batch_sampler = _samplers(
            dataset, batch_size, shuffle, sampler, batch_sampler, drop_last, generator
        )
        told = (sampler is not None and self._distributed is None) or batch_sampler is not None
        by_torch = shuffle and generator is not None and order == "shared"
        self._told = told or by_torch
        self._order = order if shuffle else "given"
        self._transform = steps_of(transform, "transform")
        self._batch_transform = batch_transform
        self._seed = seed
        self._address = address
        self._as_numpy = as_numpy
        base = unwrap(dataset)
        self._shared = SharedPart(base.base, steps_of(prepare, "prepare"), worker_init_fn)
        self._rows = base.rows
        self._row_limit = len(base.base)
        self._fresh = not deterministic
        self._named = key is not None
        alone = self._shared.steps.steps == () and worker_init_fn is None
        self._key = key or fingerprint(base.base if alone else self._shared)
        self._epoch = 0
        self._resume: dict[str, Any] | None = None
        self._source: Source | None = None  # of the latest pass
        self._passes: dict[int, int] = {}  # begun, by epoch
        self._latest: weakref.ref[Pass] | None = None
        self._idle: Connection | None = None
        self._ring = Ring()
        self._delivered = self._prepared = self._hits_of_others = self._repeated = 0
        self._wait_s = 0.0

    @property
    def goes_on_elsewhere(self) -> bool:
        """Whether a pass may go on with another daemon; ranks do not, one by one."""
        return self._rank is None

    def __len__(self) -> int:
        """Return the number of batches of a full pass."""
        if self._told:
            return len(self.sampler if self.batch_sampler is None else self.batch_sampler)
        step = (self.batch_size or 1) * (self._rank.world_size if self._rank else 1)
        full, rest = divmod(len(self._rows), step)
        return full + (1 if rest and not self.drop_last else 0)

    def __iter__(self) -> Iterator[Any]:
        """Begin a pass."""
        source = self._source = self._new_source()
        self._resume = None
        self._epoch = source.epoch + 1
        connection, self._idle = self._idle, None
        if connection is None or not connection.usable_here:
            largest = source.largest() if isinstance(source, Told) else 0
            connection = self.connect(largest)
        ahead = TOLD_AHEAD if self._told else AHEAD
        if self._singly:
            ahead = 2 * SINGLES
        latest = Pass(self, connection, source, ahead, self._batch_transform)
        self._latest = weakref.ref(latest)  # a pass that was broken off must go when it is dropped
        return latest

    def _new_source(self) -> Source:
        """Return the order of the next pass, after what a loaded state says was yielded."""
        state = self._resume
        if state is None and self._distributed is not None:
            self._epoch = max(self._epoch, self._distributed.epoch)
        length = len(self._rows)
        progress = (
            restored(state, self._key, length)
            if state
            else Progress(length, self._epoch, self._new_key())
        )
        if not self._told:
            ranks = self._rank.world_size if self._rank else 1
            return Drawn(progress, self.batch_size or 1, self.drop_last, ranks)
        batches = iter(self.batch_sampler) if self.batch_sampler is not None else _singles(self)
        yielded = int(state["batches"]) if state else 0
        return Told(batches, progress.epoch, progress.key, yielded, length)

    def _new_key(self) -> int:
        """Return where a new pass's random numbers start: new ones, or the seed's."""
        if self._order != "seeded":
            return int.from_bytes(os.urandom(8)) >> 1
        number = self._passes.get(self._epoch, 0)
        self._passes[self._epoch] = number + 1
        rank = self._rank.number if self._rank else 0
        name = f"{self._seed} {self._epoch} {number} {rank}".encode()
        return int.from_bytes(blake2b(name, digest_size=8).digest()) >> 1

    def set_epoch(self, epoch: int) -> None:
        """Number the next pass; matters to `order="seeded"`."""
        if isinstance(epoch, bool) or not isinstance(epoch, int) or epoch < 0:
            raise BadArgument(f"epoch is {epoch!r}; an epoch is an integer >= 0")
        self._epoch = epoch
        self._resume = None

    def state_dict(self) -> dict[str, Any]:
        """Return what was yielded of the current pass, as small plain data; equal on all ranks."""
        if self._resume is not None:
            return dict(self._resume)
        order = "told" if self._told else self._order
        if self._source is not None and not self._source.complete:
            return self._source.state(self._key, self._seed, order)
        state = Progress(len(self._rows), self._epoch).state(self._key, self._seed, order)
        return {**state, "batches": 0} if self._told else state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a state at the next `iter()`."""
        restored(state, self._key, len(self._rows))
        if ("batches" in state) != self._told:
            raise BadArgument(
                "the state is of a loader with a sampler and this one has none, or the other way "
                "round; make both loaders with the same arguments"
            )
        self._resume = dict(state)

    def stats(self) -> LoaderStats:
        """Return what the loader's passes have yielded so far."""
        return LoaderStats(
            self._delivered,
            self._prepared,
            self._delivered - self._prepared,
            self._hits_of_others,
            round(self._wait_s, 3),
            self._source.epoch if self._source else self._epoch,
            self._repeated,
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

    @property
    def _singly(self) -> bool:
        """Whether samples come one by one."""
        return self.batch_size is None and self.batch_sampler is None

    # What a pass asks of its loader.

    def connect(self, batch_size: int = 0) -> Connection:
        """Register with the daemon, starting one if there is none."""
        for _ in range(CONNECT_TRIES - 1):
            with suppress(ConnectionLost):  # one that was ending let us in
                return self._registered(Connection(self._address), batch_size)
        return self._registered(Connection(self._address), batch_size)

    def _registered(self, connection: Connection, batch_size: int) -> Connection:
        path = tuple(os.path.abspath(entry) for entry in sys.path)
        environment = Environment(sys.executable, path, os.getcwd())
        rank = self._rank
        spec = Register(
            self._name,
            self._key if self._named else f"{self._key} in {_digest(environment)}",
            packed(self._rows),
            self._row_limit,
            max(batch_size, SINGLES if self._singly else self.batch_size or 1),
            "told" if self._told else self._order,
            self._seed,
            self._fresh,
            environment,
            code_time(),
            _pickled(OwnPart(self._transform), "transform") if self._transform.steps else b"",
            rank.team if rank else "",
            rank.number if rank else 0,
            rank.world_size if rank else 1,
            self.drop_last,
        )
        connection.register(spec, lambda: Body(_pickled(self._shared, "dataset")))
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
        self._hits_of_others += batch.shared
        self._repeated += batch.repeated
        self._wait_s += wait_s

    def collated(self, connection: Connection, batch: BatchReady) -> Any:
        """Copy a batch out of shared memory."""
        layouts = connection.layouts(batch)
        memory, offsets = connection.memory, unpacked(batch.offsets)
        pin = self.pin_memory and torch_loader.can_pin()
        if self.collate_fn is None and not self._singly:
            copied = gather(
                layouts,
                memory,
                offsets,
                tensors=False if self._as_numpy else None,
                allocate=torch_loader.pinned_bytes if pin else self._ring.lend,
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
        if self._singly:
            data = (self.collate_fn or torch_loader.convert)(samples[0])
        else:
            data = (self.collate_fn or torch_loader.collate)(samples)
        return torch_loader.pinned(data) if pin else data


def _samplers(
    dataset: Any,
    batch_size: int | None,
    shuffle: bool,
    sampler: Any,
    batch_sampler: Any,
    drop_last: bool,
    generator: Any,
) -> tuple[Any, Any]:
    """Return what torch's loader would have as its sampler and batch sampler.

    Of these only a user's own is read here; the others are what frameworks look for.
    """
    torch = torch_loader.loaded()
    if batch_sampler is not None:
        return sampler, batch_sampler
    if torch is None:
        whole = sampler if sampler is not None else range(len(dataset))
        return whole, None if batch_size is None else Batches(whole, batch_size, drop_last)
    data = torch.utils.data
    if sampler is None and shuffle:
        sampler = data.RandomSampler(dataset, generator=generator) if len(dataset) else range(0)
    elif sampler is None:
        sampler = data.SequentialSampler(dataset)
    if batch_size is None:
        return sampler, None
    return sampler, data.BatchSampler(sampler, batch_size, drop_last)


@dataclass(frozen=True)
class Batches:
    """Positions of a sampler in batches: torch's BatchSampler, where there is no torch."""

    sampler: Any
    batch_size: int
    drop_last: bool

    def __iter__(self) -> Iterator[list[int]]:
        """Yield batches."""
        batch: list[int] = []
        for position in self.sampler:
            batch.append(position)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def __len__(self) -> int:
        """Return the number of batches."""
        full, rest = divmod(len(self.sampler), self.batch_size)
        return full + (1 if rest and not self.drop_last else 0)


def _singles(loader: DataLoader) -> Iterator[list[int]]:
    return ([position] for position in loader.sampler)


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
