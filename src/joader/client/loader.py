"""`joader.DataLoader`: what a training script iterates over.

The loader looks at its dataset and arguments, names the recipe, and keeps what is counted; a pass
over it is a `Pass` (passing.py), in an order from a `Source` (source.py). Each `iter()` is a new
pass. All arguments of torch's loader are taken; what they mean here is said in docs/torch.md.
"""

import copy
import logging
import os
import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from types import GenericAlias
from typing import Any

from joader.client import torch_api
from joader.client.arguments import check, checked_dataset, steps_of
from joader.client.counts import Counts, LoaderStats
from joader.client.dataset import tables
from joader.client.dataset.joined_columns import Joining
from joader.client.dataset.unwrap import unwrap
from joader.client.order import samplers
from joader.client.order.progress import Progress, restored
from joader.client.order.sampler_order import ToldOrder
from joader.client.order.source import Drawn, Source, Told, key_from
from joader.client.ranks import find_rank
from joader.client.reading import collate
from joader.client.reading.births import Nursery
from joader.client.reading.collate import Samples, Slots
from joader.client.reading.collate_with_steps import StepsFirst
from joader.client.reading.connection import Connection
from joader.client.reading.job import Job
from joader.client.reading.loader_view import Reading
from joader.client.reading.look import Looker, Settings, Sight
from joader.client.reading.no_daemon import Alone
from joader.client.reading.passes import Pass
from joader.client.reading.torch_inside import Inside
from joader.errors import BadArgument, WorldError
from joader.memory import Ring
from joader.messages import Deliver

# Batches asked for at a time: one in hand and one in preparation; of a sampler's more, as only what
# was asked for is known.
AHEAD, TOLD_AHEAD = 2, 4
# With batch_size=None samples are asked for one by one, so many at a time.
SINGLES = 16
_FOR_EVER_S = 1e8  # of infinity sockets know nothing
# What was looked at when the loader was made: as in torch's, it cannot be changed any more.
FIXED = {
    *("dataset", "batch_size", "sampler", "batch_sampler", "drop_last", "persistent_workers"),
    *("worker_init_fn", "prepare", "transform", "seed", "order", "deterministic", "key", "job"),
    *("on_error", "fallback", "where", "columns", "version", "lend"),
}
# Subclasses replace it (ultralytics, timm: an endless one), each in its own way.
REPLACEABLE = {"batch_sampler"}
_OF_PASSES = {"_source", "_latest", "_idle", "_ring", "_nursery", "_sight", "_looker", "_inside"}

log = logging.getLogger("joader")


class DataLoader:
    """Iterate over batches of a map-style dataset, prepared once for all jobs that need them.

    Every argument of `torch.utils.data.DataLoader` is accepted. `num_workers` is the most processes
    the job lends to the daemon, started as torch starts its workers; 0: none, what others have
    prepared is taken and the rest is read here; left out: its share of the cores. Of its own it
    has:

    `order`: with `shuffle=True`, "shared" (default) draws jointly with other jobs; "seeded" makes
    the order, and all randomness, a pure function of seed and epoch.
    `prepare`: steps applied to each sample in the workers, shared with every job that has them too.
    `transform`: steps applied in the workers to each sample for this job alone; may be random.
    `batch_transform`: applied here to the collated batch.
    `deterministic=True`: promise that the dataset has no random code, so that prepared samples can
    be kept and reused. Implied for storages with built-in steps.
    `key` replaces the fingerprint of the dataset: what has the same key is taken to be equal.
    `job`: the job's name; processes of one launcher that name it are its ranks.
    `on_error`: what becomes of a row that cannot be prepared: "raise" (default) raises in place of
    its batch, "skip" leaves it out of its batch, "replace" repeats another row of the pass instead.
    `fallback`: if there is no daemon for the job, it loads by itself; False: it raises.
    `lend=False`: its workers prepare for this job alone, also while they have nothing to do.
    `where`, `columns`, `version`: of a table of the catalog, given by name as the dataset: rows by
    an SQL predicate, a mask or numbers; columns, in whose order a batch is a tuple; a version to
    stay at (each pass takes the newest otherwise).
    """

    multiprocessing_context: Any = None  # torch's is a property that would check it

    @classmethod
    def known_to_torch(cls) -> "type[DataLoader]":
        """Return the class that is torch's, too, where torch is loaded; else the class itself."""
        return torch_api.joined(cls) if torch_api.loaded() else cls

    def __new__(cls, *arguments: Any, **named: Any) -> "DataLoader":
        """Make a loader that torch's users know, where torch is loaded."""
        made: DataLoader = object.__new__(cls.known_to_torch())
        return made

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        batch_sampler: Any = None,
        num_workers: int | None = None,
        collate_fn: Callable[[Any], Any] | None = None,
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
        seed: int | None = None,
        order: str = "shared",
        deterministic: bool = False,
        key: str | None = None,
        job: str | None = None,
        address: str | None = None,
        as_numpy: bool = False,
        on_error: str = "raise",
        fallback: bool = True,
        lend: bool = True,
        where: Any = None,
        columns: Sequence[str] | None = None,
        version: int | None = None,
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
            on_error=on_error,
            flags={"fallback": fallback, "lend": lend},
            counts={"num_workers": num_workers, "prefetch_factor": prefetch_factor},
            of_workers={
                "prefetch_factor": prefetch_factor,
                "persistent_workers": persistent_workers or None,
                "multiprocessing_context": multiprocessing_context,
            },
            names={"key": key, "job": job},
            functions={
                "collate_fn": collate_fn,
                "batch_transform": batch_transform,
                "worker_init_fn": worker_init_fn,
            },
        )
        dataset = tables.opened(dataset, where, columns, version)
        # Every argument is an attribute of the same name: frameworks make loaders again from them.
        self.dataset = dataset
        self.batch_size = None if batch_sampler is not None else batch_size
        self.drop_last = drop_last
        self.pin_memory, self.pin_memory_device = pin_memory, pin_memory_device
        self.worker_init_fn = worker_init_fn
        self.generator = generator
        self.in_order = in_order
        self.multiprocessing_context = multiprocessing_context
        self.prepare, self.transform, self.batch_transform = prepare, transform, batch_transform
        self.order, self.key = order, key
        self.job, self.address, self.as_numpy = job, address, as_numpy
        self.on_error, self.fallback, self.lend = on_error, fallback, lend
        self.where, self.columns, self.version = where, columns, version
        self.deterministic = deterministic
        # As torch would show them: it refuses some of these where there are no workers.
        num_workers = None if num_workers is None else int(num_workers)
        self.num_workers, self._num_workers_given = num_workers or 0, num_workers
        self.prefetch_factor = (prefetch_factor or 2) if num_workers else None
        self.persistent_workers = persistent_workers
        self.timeout: float = timeout if num_workers and timeout != 120.0 else 0
        self._timeout_s = timeout or 120.0  # 0 is torch's "for ever"
        self._name = job or os.path.basename(sys.argv[0] or "python")
        self._steps = steps_of(prepare, "prepare"), steps_of(transform, "transform")
        self._collate_given = collate_fn
        self._shuffle = shuffle
        chosen = batch_sampler if sampler is None else sampler
        self._inside: Inside | None = None
        self._inside_reason = checked_dataset(dataset, batch_size, chosen)
        length = 0 if self._inside_reason else len(unwrap(dataset).rows)
        self._rank = find_rank(self._name, job is not None, chosen, length)
        if self._inside_reason:
            self._rank = None
        self._distributed: Any = sampler if self._rank else None
        self._epoch_told = 0  # by the DistributedSampler
        if self._distributed is not None:
            shuffle = self._shuffle = bool(sampler.shuffle)
            seed = int(sampler.seed) if seed is None else seed
        if seed is None:
            seed = generator.initial_seed() if generator is not None and order == "seeded" else 0
        self.seed = seed
        self._samplers_given = sampler, batch_sampler
        self._told_given = False
        if not self._inside_reason:
            self.sampler, self.batch_sampler = samplers.shown(
                dataset, batch_size, shuffle, sampler, batch_sampler, drop_last, generator
            )
            by_torch = shuffle and generator is not None and order == "shared"
            self._told_given = self._rank is None and (chosen is not None or by_torch)
        self._shown_batches = self.__dict__.get("batch_sampler")
        self._whose = self._rank.team if self._rank else _random_key()
        self._epoch = 0
        self._resume: dict[str, Any] | None = None
        self._passes: dict[int, int] = {}  # begun, by epoch
        self._counts = Counts()
        self._said: set[str] = set()
        self._keeps_state = False  # its dataset changes when it is read
        self._differs = False  # its rows are not those of others with an equal recipe
        self._forget_passes()
        if self._inside_reason:
            self._load_inside()
        else:
            self.deterministic = self._looked().job.shared.deterministic or deterministic
        self._made = True

    def _forget_passes(self) -> None:
        """Have no pass, no connection and no process."""
        self._source: Source | None = None  # of the latest pass
        self._latest: weakref.ref[Pass] | None = None
        self._idle: Connection | None = None
        self._nursery: tuple[Job, Nursery] | None = None
        self._sight: Sight | None = None
        self._inside = None
        self._looker = Looker(self._settings())
        self._ring = Ring()

    # What is read.

    def _settings(self) -> Settings:
        given, seeded = self._order_given, self.order == "seeded"
        return Settings(
            name=self._name,
            key=self.key,
            prepare=self._steps[0],
            transform=self._steps[1],
            worker_init_fn=self.worker_init_fn,
            deterministic=self.deterministic,
            # In the daemon only the order "seeded" keeps a job's random numbers its own.
            private=seeded and given != "seeded",
            alone=self._differs,
            seed=self.seed,
            drop_last=self.drop_last,
            rank=self._rank,
            whose=str(self._whose),
            num_workers=0 if self._keeps_state else self._num_workers_given,
            lend=self.lend,
            context=self.multiprocessing_context,
        )

    def _look_with_new_settings(self) -> None:
        """Be another job from now on; a pass that is under way keeps what it began with."""
        if self._idle is not None:
            self._idle.close()
        self._looker = Looker(self._settings())
        self._idle, self._sight, self._nursery = None, None, None

    def _looked(self) -> Sight:
        """Return what was seen of the dataset last; look, if that was never."""
        if self._sight is None:
            self._sight = self._looker.look(self.dataset, self._order, self._most_at_once)
        return self._sight

    def _look_again(self) -> Connection | None:
        """See what the dataset is now; whatever has changed means new workers and another job.

        Return what is registered for the rows before: it is to be closed once the others are, so
        that what both have in common is not forgotten.
        """
        before = self._looked()
        if self._newer_view():
            self._sight = None
        now = self._looker.look(self.dataset, self._order, self._most_at_once)
        stays = self.persistent_workers and now.unsure and len(now.job.rows) == len(before.job.rows)
        if (before.is_same(now, self._order) and not now.unsure) or stays:
            self._sight = before
            return None
        self._sight = now
        left, self._idle, self._nursery = self._idle, None, None
        return left

    def _newer_view(self) -> bool:
        """Take the newest version of a table, where nothing binds the loader to the one it has."""
        table = self._sight.table if self._sight else None
        if table is None or self._told or self._rank or self._resume is not None:
            return False
        view = tables.newer(self.dataset)
        if view is None:
            return False
        shuffle = self._order != "given"
        shown = samplers.shown(
            view, self.batch_size, shuffle, None, None, self.drop_last, self.generator
        )
        self.__dict__.update(dataset=view, sampler=shown[0], batch_sampler=shown[1])
        self._shown_batches = shown[1]
        return True

    def _load_inside(self) -> None:
        """Let torch's own loader read what cannot be shared sample by sample."""
        if torch_api.loaded() is None:
            raise BadArgument(
                f"{self._inside_reason}; only torch's loader can read that, and torch is not loaded"
            )
        sampler, batch_sampler = self._samplers_given
        workers = self.num_workers
        arguments: dict[str, Any] = {
            "dataset": self.dataset,
            "sampler": sampler,
            "batch_sampler": batch_sampler,
            "num_workers": workers,
            "collate_fn": self.collate_fn if self._has_steps else self._collate_given,
            "pin_memory": self.pin_memory,
            "worker_init_fn": self.worker_init_fn,
            "multiprocessing_context": self.multiprocessing_context if workers else None,
            "generator": self.generator,
            "prefetch_factor": self.prefetch_factor,
            "persistent_workers": self.persistent_workers,
            "timeout": self.timeout,
        }
        if batch_sampler is None:
            arguments |= {"batch_size": self.batch_size, "drop_last": self.drop_last}
            arguments["shuffle"] = self._shuffle or None
        self._inside = Inside(self._inside_reason, arguments)
        if "batch_sampler" not in self.__dict__:
            shown = self._inside.loader
            self.__dict__.update(sampler=shown.sampler, batch_sampler=shown.batch_sampler)

    def _get_iterator(self) -> Iterator[Any]:
        """Begin a pass, as torch's method of this name, which subclasses call."""
        return DataLoader.__iter__(self)

    @property
    def _told(self) -> bool:
        """Whether a sampler says what comes next; a subclass may have put one in our place."""
        return self._told_given or self._batches_replaced

    @property
    def _batches_replaced(self) -> bool:
        return self.__dict__.get("batch_sampler") is not self._shown_batches

    @property
    def _order_given(self) -> str:
        return "told" if self._told_given else self.order if self._shuffle else "given"

    @property
    def _order(self) -> str:
        return "told" if self._told else self._order_given

    @property
    def _has_steps(self) -> bool:
        return bool(self._steps[0].steps or self._steps[1].steps or self.batch_transform)

    @property
    def collate_fn(self) -> Callable[[Any], Any] | None:
        """How samples become a batch, for whoever makes another loader out of this one."""
        collate_fn = self._collate_given or torch_api.collate_of(self._singly)
        if not self._has_steps or collate_fn is None:
            return collate_fn
        return StepsFirst(*self._steps, collate_fn, self.batch_transform, self._singly)

    @collate_fn.setter
    def collate_fn(self, function: Callable[[Any], Any] | None) -> None:
        self._collate_given = function

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuse what would have no effect any more, unless who does it has unlocked torch's."""
        unlocked = self.__dict__.get("_DataLoader__initialized") is False and name in REPLACEABLE
        if name in FIXED and "_made" in self.__dict__ and not unlocked:
            raise BadArgument(f"{name} of a loader cannot be changed; make a new loader")
        super().__setattr__(name, value)
        if name == "num_workers" and "_made" in self.__dict__:  # counts from the next pass on
            self._num_workers_given = value
            self._look_with_new_settings()

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy as a loader with the same arguments, at the same epoch, with no pass begun."""
        state = {name: value for name, value in self.__dict__.items() if name not in _OF_PASSES}
        return _again, (vars(type(self)).get("plain_class", type(self)), state)

    def __repr__(self) -> str:
        """Say what is read, how, and by whom."""
        words = [type(self.dataset).__name__]
        if self._inside is None:
            words = [f"{words[0]} of {len(self._looked().job.rows)}"]
        if self.batch_size is not None:
            words.append(f"batch_size={self.batch_size}")
        elif self._singly:
            words.append("batch_size=None")
        if self._inside is not None:
            words.append("read by torch's own loader")
        elif self._told:
            chosen = self.sampler if self.batch_size or self._singly else self.batch_sampler
            words.append(f"in the order of {type(chosen).__name__}")
        elif self._order == "given":
            words.append("in the order of the dataset")
        else:
            words.append(f"order={self._order!r}")
        words += ["drop_last=True"] if self.drop_last else []
        words.append(f"job={self._name!r}")
        if self._rank:
            words.append(f"rank {self._rank.number} of {self._rank.world_size}")
        return f"joader.{type(self).__name__}({', '.join(words)})"

    def __class_getitem__(cls, kind: Any) -> GenericAlias:
        """Be subscripted in annotations, as torch's loader is."""
        return GenericAlias(cls, kind)

    @property
    def timeout_s(self) -> float:
        """How long a batch may take."""
        return min(self.timeout or self._timeout_s, _FOR_EVER_S)

    @property
    def goes_on_elsewhere(self) -> bool:
        """Whether a pass may go on with another daemon; ranks do not, one by one."""
        return self._rank is None

    @property
    def seeded(self) -> bool:
        """Whether random numbers are a function of seed and epoch."""
        return self.order == "seeded"

    @property
    def tries_here(self) -> bool:
        """Whether rows that fail in a worker are tried here: without workers torch reads here."""
        return self._num_workers_given is None

    def __len__(self) -> int:
        """Return the number of batches of a full pass."""
        if self._inside is not None:
            return len(self._inside)
        if self._told:
            return len(self.sampler if self.batch_sampler is None else self.batch_sampler)
        step = (self.batch_size or 1) * (self._rank.world_size if self._rank else 1)
        full, rest = divmod(len(self.dataset), step)
        return full + (1 if rest and not self.drop_last else 0)

    def __iter__(self) -> Iterator[Any]:
        """Begin a pass."""
        if self._inside is not None:
            return self._inside.begin(self._counts.note_inside)
        before = self._look_again()
        sight = self._looked()
        self._say_if_opaque(sight)
        source = self._new_source()
        if isinstance(source, Told) and source.has_other_keys and torch_api.loaded():
            self._inside_reason = "the sampler gives keys that are not row numbers"
            self._load_inside()
            return iter(self)
        if not self._told:  # samplers draw for themselves
            torch_api.advance(self.generator, draws=self._order != "given")
        connection = self._free_connection() or self.connect(
            source.largest() if isinstance(source, Told) else 0, sight.job
        )
        if before is not None:
            before.close()
        self._source, self._resume = source, None
        self._epoch = source.epoch + 1
        ahead = TOLD_AHEAD if self._told else AHEAD
        if self._singly:
            ahead = 2 * SINGLES
        if sight.job.lending is None:
            ahead = 1
        latest = Pass(Reading(self, sight.job, sight.joined), connection, source, ahead)
        self._latest = weakref.ref(latest)  # a pass that was broken off must go when it is dropped
        return latest

    def _say_if_opaque(self, sight: Sight) -> None:
        if sight.opaque and "opaque" not in self._said:
            self._said.add("opaque")
            where = "by workers of this job alone" if sight.job.lending else "in this process"
            log.warning(
                "this dataset is not shared with other jobs, and is read %s: %s",
                *(where, sight.opaque),
            )

    def _free_connection(self) -> Connection | Alone | None:
        """Return a connection that no pass needs; of a rank, that of the pass before."""
        connection: Connection | Alone | None = self._idle
        self._idle = None
        latest = self._latest() if self._latest else None
        if connection is None and self._rank and latest is not None:
            connection = latest.hand_over()
        return connection if connection is not None and connection.usable_here else None

    def _new_source(self) -> Source:
        """Return the order of the next pass, after what a loaded state says was yielded."""
        state = self._resume
        if self._distributed is not None and self._distributed.epoch != self._epoch_told:
            self._epoch_told = self._distributed.epoch
            self._epoch = self._epoch_told if state is None else self._epoch
        sight = self._looked()
        if state is None:
            return self._source_after(Progress(len(sight.job.rows), self._epoch), None)
        progress = restored(state, sight.identity)
        source = self._source_after(progress, state)
        if progress.count and source.complete:  # with drop_last, or smaller steps, nothing is left
            return self._source_after(Progress(progress.length, progress.epoch + 1), None)
        return source

    def _source_after(self, progress: Progress, state: dict[str, Any] | None) -> Source:
        key, size = progress.key or self._new_key(progress.epoch), self.batch_size or 1
        if self._rank is not None:
            ranks, rank = self._rank.world_size, self._rank.number
            return Drawn(progress, size, self.drop_last, ranks, rank, key)
        progress.key = key
        if self._told:
            return Told(self._told_order(), progress, state["sampler"] if state else None)
        return Drawn(progress, size, self.drop_last)

    def _told_order(self) -> ToldOrder:
        """Return what the samplers say."""
        told_batches = self._batches_replaced or (self.batch_size is None and not self._singly)
        batch_sampler = self.batch_sampler if told_batches else None
        size, length = self.batch_size, len(self._looked().job.rows)
        return ToldOrder(self.sampler, batch_sampler, size, self.drop_last, self.generator, length)

    def _new_key(self, epoch: int) -> int:
        """Return where a new pass's random numbers start: new ones, or the seed's."""
        if self.order != "seeded":
            return _random_key()
        number = self._passes.get(epoch, 0)
        self._passes[epoch] = number + 1
        return key_from(self.seed, epoch, number)

    def set_epoch(self, epoch: int) -> None:
        """Number the next pass; matters to `order="seeded"`.

        A loaded state stays where it is of this epoch.
        """
        if isinstance(epoch, bool) or not isinstance(epoch, int) or epoch < 0:
            raise BadArgument(f"epoch is {epoch!r}; an epoch is an integer >= 0")
        self._epoch = epoch
        if self._resume is not None and self._resume["epoch"] != epoch:
            self._resume = None

    def state_dict(self) -> dict[str, Any]:
        """Return what was yielded of the current pass, as small plain data; equal on all ranks."""
        if self._inside is not None:
            return {"version": "inside", "epoch": self._epoch}
        if self._resume is not None:
            return copy.deepcopy(self._resume)
        sight = self._looked()
        if self._source is not None and not self._source.complete:
            return self._source.state(sight.identity, self.seed, self._order)
        head = Progress(len(sight.job.rows), self._epoch)
        state = head.state(sight.identity, self.seed, self._order)
        return {**state, "sampler": self._told_order().save()} if self._told else state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a state at the next `iter()`; iterators that are there are not concerned."""
        if self._inside is not None:
            log.warning(
                "what torch's own loader reads begins anew: it keeps no place to go on from"
            )
            return
        restored(state, self._looked().identity)
        if ("sampler" in state) != self._told:
            raise BadArgument(
                "the state is of a loader with a sampler and this one has none, or the other way "
                "round; make both loaders with the same arguments"
            )
        if self._told:
            self._told_order().check(state["sampler"])
        elif state["order"] == self._order == "seeded" and state["seed"] != self.seed:
            raise BadArgument(
                f"the state is of seed {state['seed']}, this loader has seed {self.seed}: what is "
                f"left would come in another order. Make the loader with seed={state['seed']}"
            )
        self._resume = copy.deepcopy(state)

    def stats(self) -> LoaderStats:
        """Return what the loader's passes have yielded so far."""
        return self._counts.stats(self._source.epoch if self._source else self._epoch)

    def close(self) -> None:
        """End the job; the loader may be used again."""
        latest = self._latest() if self._latest else None
        if latest is not None:
            latest.connection.close()
        if self._idle is not None:
            self._idle.close()
            self._idle = None
        self._nursery = None

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

    @property
    def _most_at_once(self) -> int:
        if self._rank:
            return self.batch_size or 1
        size = SINGLES if self._singly else self.batch_size or 1
        return min(size, max(1, len(self.dataset)))

    # What a pass asks of its loader.

    def connect(self, batch_size: int, job: Job) -> Connection | Alone:
        """Register with the daemon, starting one if there is none; without one, go on alone."""
        try:
            # The nursery first: it is born while the daemon starts, and inherits no connection.
            nursery = self._nursery_of(job)
            return job.connect(self.address, batch_size, self.timeout_s, nursery)
        except WorldError as error:
            return self.alone(error, job)

    def without_workers(self) -> Job:
        """Bring no workers from now on: the dataset keeps state that belongs into this process."""
        log.warning(
            "the dataset changes when it is read, so this job reads it in its own process, as "
            "torch does without num_workers; give num_workers= to have worker processes read it"
        )
        self._keeps_state = True
        self._look_with_new_settings()
        return self._looked().job

    def in_private(self, row: int) -> Job:
        """Share nothing from now on: what this job prepares is not what others have."""
        log.warning(
            "row %d comes out otherwise here than in another job with an equal recipe, so this job "
            "shares nothing with it: the dataset or prepare= depends on something that joader does "
            "not see (a file behind a path, a library's state), or is random although it is "
            "declared deterministic; key= tells jobs apart",
            row,
        )
        self._differs = True
        self._look_with_new_settings()
        return self._looked().job

    def _nursery_of(self, job: Job) -> Nursery | None:
        """Return the process that bears the job's workers, another one if it was killed."""
        if self._nursery is not None and self._nursery[0] is job and self._nursery[1].alive:
            return self._nursery[1]
        nursery = job.bear()
        if nursery is not None and self._looked().job is job:
            self._nursery = job, nursery
        return nursery

    def alone(self, error: WorldError, job: Job) -> Alone:
        """Say why, and go on without a daemon; raise the error where that is not allowed."""
        if self._rank or not self.fallback:
            raise error
        log.warning(
            "no daemon serves this job, so it loads by itself, as torch's loader would: %s. "
            "No row is lost; the next pass tries the daemon again (`joader status`). "
            "fallback=False raises instead",
            str(error).partition("\n")[0].rstrip(":."),
        )
        return job.alone()

    def keep(self, connection: Connection | Alone, job: Job) -> None:
        """Keep the connection of a pass that has ended for the next, if it is the same job."""
        if isinstance(connection, Alone) or self._looked().job is not job:
            connection.close()  # the next tries the daemon again
        elif self._idle is None:
            self._idle = connection
        elif self._idle is not connection:
            connection.close()

    def count(self, batch: Deliver, wait_s: float, failed: int, replaced: int, alone: bool) -> None:
        """Count a batch that was yielded, with so many of its rows failed, and replaced."""
        self._counts.note(batch, wait_s, failed, replaced, alone)

    def collated(self, whole: Slots | Samples, joined: Joining | None) -> Any:
        """Copy a batch out of shared memory, or make it of samples.

        `joined` puts further columns beside it.
        """
        pin = self.pin_memory and torch_api.can_pin()
        collate_fn = self._collate_given or torch_api.collate_of(self._singly)
        if isinstance(whole, Samples):
            data = collate.make(whole, collate_fn, self._singly, self.as_numpy, joined)
            return torch_api.pinned(data) if pin else data
        allocate = torch_api.pinned_bytes if pin else self._ring.lend
        data, is_pinned = collate.copy(
            whole, collate_fn, self._singly, self.as_numpy, allocate, joined
        )
        return torch_api.pinned(data) if pin and not is_pinned else data

    def finished(self, data: Any) -> Any:
        """Apply the batch transform."""
        return self.batch_transform(data) if self.batch_transform else data


def _again(plain_class: type[DataLoader], state: dict[str, Any]) -> DataLoader:
    """Make a loader from the state of another."""
    loader = plain_class.__new__(plain_class)
    loader.__dict__.update(state)
    loader._counts = replace(loader._counts)
    loader._forget_passes()
    if loader._inside_reason:
        loader._load_inside()
    return loader


def _random_key() -> int:
    return int.from_bytes(os.urandom(8)) >> 1
