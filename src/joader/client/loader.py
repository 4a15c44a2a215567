"""`joader.DataLoader`: what a training script iterates over, and what frameworks see of it.

The loader holds its arguments as attributes, as torch's does, and one owner for each thing that
lives on: who gives the order (`Ordering`), which pass comes next (`Epochs`), the job that it is now
(`CurrentJob`), the figures (`Counts`). Each `iter()` is a new `Pass`. None of them refers back to
the loader: it must go, and its connection with it, as soon as nobody can iterate any more.
All arguments of torch's loader are taken; docs/torch.md says what they mean here.
"""

import logging
import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from types import GenericAlias
from typing import Any

from joader.client import torch_api
from joader.client.arguments import (
    DEFAULT_TIMEOUT_S,
    FIXED,
    REPLACEABLE,
    Arguments,
    CallSignature,
    OnError,
    Order,
    check_names,
    steps_of,
)
from joader.client.counts import Counts, LoaderStats
from joader.client.dataset import tables
from joader.client.dataset.unwrap import obstacle_to_sharing
from joader.client.order.epochs import Epochs, FromTheStart
from joader.client.order.ordering import Ordering, decided
from joader.client.order.progress import Progress
from joader.client.order.sampler_order import beginning
from joader.client.order.source import Told
from joader.client.reading.batch_maker import BatchMaker
from joader.client.reading.collate import Collation, StepsFirst
from joader.client.reading.current_job import CurrentJob
from joader.client.reading.loader_view import Reading
from joader.client.reading.look import Sight
from joader.client.reading.no_daemon import batches_of
from joader.client.reading.passes import Pass
from joader.client.reading.settings import settings_of
from joader.client.reading.torch_inside import Inside
from joader.errors import BadArgument
from joader.memory import Ring

_FOR_EVER_S = 1e8  # sockets do not take infinity
_OF_PASSES = {"_latest", "_ring", "_inside"}  # a copy has none of these

log = logging.getLogger("joader")


class DataLoader:
    """Iterate over batches of a map-style dataset, prepared once for all jobs that need them.

    Every argument of `torch.utils.data.DataLoader` is accepted. `num_workers` is the most processes
    the job lends to the daemon, started as torch starts its workers; with 0 it brings none, takes
    what others have prepared and reads the rest here; left out, it brings its share of the cores.

        for images, labels in DataLoader(dataset, batch_size=32, shuffle=True): ...

    These arguments are joader's own:

    `prepare`: steps applied to each sample in the workers, shared with every job that has them too.
    `transform`: steps applied in the workers to each sample for this job alone; may be random.
    `batch_transform`: applied here to the collated batch.
    `seed`: what the order "seeded" follows from, 0 by default. It does not make others repeatable.
    `order`: with `shuffle=True`, "shared" (default) follows a stream that other jobs follow, too:
    exactly a reshuffle for this job, whose order is not independent of theirs. "joint" is uniform
    given everybody's past, too, and shares less. "seeded" makes the order, and all randomness, a
    pure function of seed and epoch.
    `deterministic`: True promises that the dataset has no random code, so that prepared samples can
    be kept and reused. Implied for storages with built-in steps.
    `key`: replaces the fingerprint of the dataset; datasets with one key are taken to be equal.
    `job`: the job's name; processes of one launcher that name it are its ranks.
    `address`: the socket of the daemon; by default the user's own, or what JOADER_ADDRESS says.
    `as_numpy`: True gives batches of NumPy arrays, also if torch is loaded.
    `on_error`: what happens to a row that cannot be prepared: "raise" (default) raises instead of
    its batch, "skip" leaves it out of its batch, "replace" repeats another row of the pass instead.
    `fallback`: if there is no daemon for the job, it loads by itself; if False, it raises.
    `lend`: False has its workers prepare for this job alone, even while they have nothing to do.
    `weight`: how much the job gets beside others if the workers are too few for all; 1 by default.
    `locality`: over nodes each rank reads what its node has; by default, under `order="shared"`.
    `where`: for a table of the catalog, which is given by name as the dataset, its rows: an SQL
    predicate, a mask or numbers.
    `columns`: of a table, in whose order a batch is a tuple.
    `version`: of a table, to stay at; otherwise each pass takes the newest.
    """

    multiprocessing_context: Any = None  # torch's is a property that would check it
    # Python would show that of `__new__`.
    __signature__ = CallSignature()
    _iterator: Any = None  # where libraries look for torch's iterator, to end its workers

    @classmethod
    def known_to_torch(cls) -> "type[DataLoader]":
        """Return the class that is torch's as well, if torch is loaded; else the class itself."""
        return torch_api.joined(cls) if torch_api.loaded() else cls

    def __new__(cls, *arguments: Any, **named: Any) -> "DataLoader":
        """Make a loader that torch's users know, if torch is loaded."""
        if cls.__init__ is DataLoader.__init__:
            check_names(named, DataLoader.__init__)
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
        order: Order = "shared",
        deterministic: bool = False,
        key: str | None = None,
        job: str | None = None,
        address: str | None = None,
        as_numpy: bool = False,
        on_error: OnError = "raise",
        fallback: bool = True,
        lend: bool = True,
        weight: float = 1.0,
        locality: bool | None = None,
        where: Any = None,
        columns: Sequence[str] | None = None,
        version: int | None = None,
    ) -> None:
        """See what kind of dataset it is; nothing is started before the first `iter()`."""
        # First of all, while the arguments are all there is: they travel on as one value.
        given = Arguments(**{name: value for name, value in locals().items() if name != "self"})
        given.check()
        opened = tables.opened(dataset, where, columns, version)
        self._set_up(replace(given, dataset=opened))

    def _set_up(self, given: Arguments) -> None:
        """Show the arguments, and decide what follows from them."""
        self._show(given)
        self._steps = steps_of(given.prepare, "prepare"), steps_of(given.transform, "transform")
        self._name = given.name
        self._collate_given = given.collate_fn
        self._samplers_given = given.sampler, given.batch_sampler
        self._inside_reason = obstacle_to_sharing(given.dataset, given.batch_size, given.chosen)
        self._ordering = decided(given, self._inside_reason)
        self.seed = self._ordering.seed
        if not self._inside_reason:
            self.sampler, self.batch_sampler = self._ordering.shown(
                given.dataset, *self._samplers_given
            )
        self._shown_batches = self.__dict__.get("batch_sampler")
        self._epochs = Epochs(given.sampler if self._ordering.rank else None)
        self._counts = Counts()
        settings = settings_of(given, self._ordering, self._steps)
        self._timeout_s = settings.job.timeout_s
        self._current = CurrentJob(settings)
        self._forget_passes()
        if not self._inside_reason:
            self.deterministic = given.deterministic or self._current.is_deterministic(self.dataset)
            if self.key is not None:  # it names the dataset as it is now
                self._looked()
        self._made = True

    def _show(self, given: Arguments) -> None:
        """Make every argument an attribute of the same name: frameworks make loaders from them."""
        self.dataset, self.drop_last = given.dataset, given.drop_last
        self.batch_size = None if given.batch_sampler is not None else given.batch_size
        self.pin_memory, self.pin_memory_device = given.pin_memory, given.pin_memory_device
        self.worker_init_fn = given.worker_init_fn
        self.generator, self.in_order = given.generator, given.in_order
        self.multiprocessing_context = given.multiprocessing_context
        self.prepare, self.transform = given.prepare, given.transform
        self.batch_transform = given.batch_transform
        self.order: str = given.order
        self.key = given.key
        self.job, self.address, self.as_numpy = given.job, given.address, given.as_numpy
        self.on_error: str = given.on_error
        self.fallback = given.fallback
        self.lend, self.weight, self.locality = given.lend, given.weight, given.locality
        self.where, self.columns, self.version = given.where, given.columns, given.version
        self.deterministic = given.deterministic
        # As torch would show them: it refuses some of these if there are no workers.
        self.num_workers = int(given.num_workers or 0)
        self.prefetch_factor = (given.prefetch_factor or 2) if given.num_workers else None
        self.persistent_workers = given.persistent_workers
        said = given.num_workers and given.timeout != DEFAULT_TIMEOUT_S
        self.timeout: float = given.timeout if said else 0

    def _forget_passes(self) -> None:
        """Have no pass and no memory; torch's own loader is made here, if it is to read."""
        self._latest: weakref.ref[Pass] | None = None
        self._ring = Ring()
        self._inside: Inside | None = None
        if self._inside_reason:
            self._load_inside()

    def _load_inside(self) -> None:
        """Let torch's own loader read what cannot be shared sample by sample."""
        sampler, batch_sampler = self._samplers_given
        self._inside = Inside(
            self._inside_reason,
            self,
            sampler=sampler,
            batch_sampler=batch_sampler,
            shuffle=self._ordering.shuffle,
            collate_fn=self.collate_fn if self._has_steps else self._collate_given,
        )
        if "batch_sampler" not in self.__dict__:
            shown = self._inside.loader
            self.__dict__.update(sampler=shown.sampler, batch_sampler=shown.batch_sampler)

    @property
    def collate_fn(self) -> Callable[[Any], Any] | None:
        """How samples become a batch, for whoever makes another loader out of this one."""
        collate_fn = self._collation.collate_fn
        if not self._has_steps or collate_fn is None:
            return collate_fn
        return StepsFirst(*self._steps, collate_fn, self.batch_transform, self._collation.singly)

    @collate_fn.setter
    def collate_fn(self, function: Callable[[Any], Any] | None) -> None:
        self._collate_given = function

    @property
    def batch_sampler(self) -> Any:
        """What torch's loader would show, for whoever makes another loader out of this one.

        Accelerate's `skip_first_batches` does in the middle of an epoch, so it gets the order that
        the epoch has here, or an error: what torch's sampler would say is another order.
        """
        if "batch_sampler" not in self.__dict__:
            raise AttributeError("batch_sampler")
        caller = sys._getframe(1)
        if caller.f_code.co_name == "skip_first_batches" and caller.f_locals.get("num_batches", 1):
            return self._in_mid_epoch()
        return self.__dict__["batch_sampler"]

    @batch_sampler.setter
    def batch_sampler(self, batch_sampler: Any) -> None:
        self.__dict__["batch_sampler"] = batch_sampler

    def _in_mid_epoch(self) -> Any:
        """Return a batch sampler of which the first batches may be skipped."""
        ordering = self._ordering_now
        if ordering.rank is None and (self._inside or ordering.name in ("told", "given")):
            return self.__dict__["batch_sampler"]
        if ordering.rank is not None or ordering.name != "seeded":
            raise BadArgument(
                "skip_first_batches cannot go on in the middle of an epoch of this loader, which "
                f"{'splits it between ranks' if ordering.rank else 'draws its order as it reads'}"
                ": rows would be missing, and others come twice. Save loader.state_dict() with "
                "each checkpoint, give it to load_state_dict(), and skip nothing "
                "(TrainingArguments(ignore_data_skip=True)); or make the loader with "
                "order='seeded', seed=..., without ranks"
            )

        def batches(epoch: int) -> Iterator[list[int]]:
            progress = Progress(len(job.rows), epoch)
            return batches_of(ordering.source(progress, 1, None), job.alone())

        job = self._looked().job
        return FromTheStart(self._epochs, batches, len(self))

    @property
    def _has_steps(self) -> bool:
        return bool(self._steps[0].steps or self._steps[1].steps or self.batch_transform)

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuse what would have no effect any more, unless a subclass has unlocked torch's."""
        # torch's own flag: subclasses set it to False around an assignment that it would refuse.
        unlocked = self.__dict__.get("_DataLoader__initialized") is False and name in REPLACEABLE
        if name in FIXED and "_made" in self.__dict__ and not unlocked:
            raise BadArgument(f"{name} of a loader cannot be changed; make a new loader")
        super().__setattr__(name, value)
        if name == "num_workers" and "_made" in self.__dict__:  # counts from the next pass on
            self._current.bring(value, self.multiprocessing_context)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy as a loader with the same arguments, at the same epoch, with no pass begun."""
        state = {name: value for name, value in self.__dict__.items() if name not in _OF_PASSES}
        # Copies of their own: `copy.copy` would have both loaders count in one place.
        state["_current"] = self._current.copied(self.multiprocessing_context)
        state["_epochs"], state["_counts"] = self._epochs.copied(), replace(self._counts)
        return _again, (vars(type(self)).get("plain_class", type(self)), state)

    def __repr__(self) -> str:
        """Say what is read, how, and by whom."""
        ordering, kind = self._ordering_now, type(self.dataset).__name__
        inside = self._inside is not None
        words = [kind if inside else f"{kind} of {len(self.dataset)}"]
        if self.batch_size is not None or ordering.singly:
            words.append(f"batch_size={self.batch_size}")
        words.append("read by torch's own loader" if inside else ordering.in_words())
        words += ["drop_last=True"] if self.drop_last else []
        words.append(f"job={self._name!r}")
        if ordering.rank:
            words.append(f"rank {ordering.rank.number} of {ordering.rank.world_size}")
        return f"joader.{type(self).__name__}({', '.join(words)})"

    def __class_getitem__(cls, kind: Any) -> GenericAlias:
        """Be subscripted in annotations, as torch's loader is."""
        return GenericAlias(cls, kind)

    def __len__(self) -> int:
        """Return the number of batches of a full pass."""
        if self._inside is not None:
            return len(self._inside)
        return self._ordering_now.batches(len(self.dataset))

    def _get_iterator(self) -> Iterator[Any]:
        """Begin a pass, as torch's method of this name, which subclasses call."""
        return DataLoader.__iter__(self)

    @property
    def _ordering_now(self) -> Ordering:
        """Who says what comes next; a subclass may have put a batch sampler in our place."""
        return self._ordering.now(
            sampler=getattr(self, "sampler", None),
            batch_sampler=getattr(self, "batch_sampler", None),
            generator=self.generator,
            replaced=self.__dict__.get("batch_sampler") is not self._shown_batches,
            beginning=beginning(self.num_workers, self.persistent_workers and self._latest),
        )

    @property
    def _to_look_at(self) -> tuple[Any, str, int]:
        """The dataset, the order's name, and how many rows are asked for at a time."""
        ordering = self._ordering_now
        return self.dataset, ordering.name, ordering.most_at_once(len(self.dataset))

    def _looked(self) -> Sight:
        """Return what was seen of the dataset last; look, if that was never."""
        return self._current.sight(*self._to_look_at)

    def _take_newest_version(self) -> None:
        """Read the newest version of a table, if nothing binds the loader to the one it has."""
        ordering = self._ordering_now
        if ordering.told or ordering.rank or self._epochs.resuming:
            return
        view = tables.newer(self.dataset)
        if view is not None:
            # Not by assignment, which FIXED refuses.
            sampler, batch_sampler = ordering.shown(view)
            self.__dict__.update(dataset=view, sampler=sampler, batch_sampler=batch_sampler)
            self._shown_batches = batch_sampler

    def __iter__(self) -> Iterator[Any]:
        """Begin a pass."""
        if self._inside is not None:
            return self._inside.begin(self._counts.note_inside)
        self._take_newest_version()
        before = self._current.look_again(*self._to_look_at, persistent=self.persistent_workers)
        sight, ordering = self._looked(), self._ordering_now
        self._current.say_if_opaque()
        source = self._epochs.next_source(ordering, sight.identity)
        if isinstance(source, Told) and source.has_other_keys and torch_api.loaded():
            self._inside_reason = "the sampler gives keys that are not row numbers"
            self._load_inside()
            return iter(self)
        ordering.advance()
        reading = Reading(self, self._current, sight, self._counts)
        largest = source.largest() if isinstance(source, Told) else 0
        connection = self._current.free_connection(self._latest_pass) or reading.connect(largest)
        if before is not None:
            before.close()
        self._epochs.begin(source)
        lent = self.num_workers * (self.prefetch_factor or 0) if sight.job.lending else 0
        latest = Pass(reading, connection, source, ordering.ahead(lent, reading.reads_itself))
        self._latest = weakref.ref(latest)  # a pass that was broken off must go when it is dropped
        return latest

    @property
    def _latest_pass(self) -> Pass | None:
        """The pass that began last, if somebody still has it."""
        return self._latest() if self._latest else None

    def set_epoch(self, epoch: int) -> None:
        """Number the next pass; matters to `order="seeded"`.

        A loaded state stays if it is of this epoch.
        """
        self._epochs.set_next(epoch)

    def state_dict(self) -> dict[str, Any]:
        """Return what was yielded of the current pass, as small plain data; equal on all ranks."""
        if self._inside is not None:
            return {"version": "inside", "epoch": self._epochs.next}
        return self._epochs.state(self._ordering_now, self._looked().identity)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a state at the next `iter()`; passes that have begun are not affected."""
        if self._inside is not None:
            log.warning(
                "what torch's own loader reads begins anew: it keeps no place to go on from"
            )
            return
        self._epochs.load(state, self._ordering_now, self._looked().identity)

    def stats(self) -> LoaderStats:
        """Return what the loader's passes have yielded so far."""
        return self._counts.stats(self._epochs.latest)

    def close(self) -> None:
        """End the job; the loader may be used again."""
        if (latest := self._latest_pass) is not None:
            latest.connection.close()
        self._current.close()

    def __enter__(self) -> "DataLoader":
        """Close at the end of the block."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close."""
        self.close()

    @property
    def timeout_s(self) -> float:
        """How long a batch may take."""
        return min(self.timeout or self._timeout_s, _FOR_EVER_S)

    @property
    def batch_maker(self) -> BatchMaker:
        """What makes batches, as the loader is set now; passes ask for it."""
        collation, transform = self._collation, self.batch_transform
        return BatchMaker(collation, self.pin_memory, self._ring.lend, transform=transform)

    @property
    def _collation(self) -> Collation:
        # Until torch's own loader is made, the samplers that it shows are not known.
        batch_sampler = getattr(self, "batch_sampler", self._samplers_given[1])
        singly = self.batch_size is None and batch_sampler is None
        collate_fn = self._collate_given or torch_api.collate_of(singly)
        return Collation(collate_fn, singly, self.as_numpy)


def _again(plain_class: type[DataLoader], state: dict[str, Any]) -> DataLoader:
    """Make a loader from the state of another."""
    loader = plain_class.__new__(plain_class)
    loader.__dict__.update(state)
    loader._forget_passes()
    return loader
