"""What a loader reads, looked at anew before each pass: its job, its name, and what joins it.

A dataset is the user's, and may change at any time: after the loader was made, between two epochs,
in place. torch forks its workers at each `iter()`, and so sees what is there then. Here the dataset
is looked at again instead (a memory of large contents makes that quick); if anything has changed,
the pass is another job with workers of its own.

What cannot be compared (a connection, an object of a C library) makes the job's recipe its
own: it works, is not shared, and gets new workers each time, as nobody can tell if it has changed.

If rows are at hand the job reads them itself and needs no daemon, and so no name: the dataset is
looked at only if a state of the loader is asked for.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from joader.client import torch_api
from joader.client.dataset import tables
from joader.client.dataset.description import About
from joader.client.dataset.ground import NO_GROUND, ground_of
from joader.client.dataset.identity import NOT_COMPARABLE, Identity
from joader.client.dataset.joined_columns import Joining
from joader.client.dataset.unwrap import Unwrapped, unwrap
from joader.client.reading.births import context_of, is_forking
from joader.client.reading.job import Job, Lending
from joader.client.reading.settings import Settings
from joader.daemon.machine import cores
from joader.lazy import loaded_class
from joader.recipe.fingerprint import Memory, Outline, fingerprint, look
from joader.recipe.fingerprint.shorthand import MOST_LINES
from joader.recipe.parts import OwnPart, SharedPart
from joader.recipe.place import place, place_in_words
from joader.storage import Storage

if TYPE_CHECKING:
    from joader.client.dataset.joined_table import Joined


@dataclass(frozen=True, eq=False)
class Sight:
    """What was seen of a dataset at one moment."""

    job: Job
    identity: Identity
    joined: Joining | None
    opaque: str  # what cannot be compared; "": nothing
    own_name: str  # of the job's own part
    unsure: bool  # something of it may have changed without being seen

    @property
    def table(self) -> "Joined | None":
        """The table that is read, if it is one."""
        return _table(self.joined)

    def is_same(self, other: "Sight", order: str) -> bool:
        """Tell whether another look saw the same, as far as one can tell, for this order."""
        mine, its = self.job, other.job
        if its.at_hand:  # it has no name to tell by, and nothing that is worth keeping
            return False
        return (
            (mine.recipe, mine.place, mine.row_limit) == (its.recipe, its.place, its.row_limit)
            and (self.own_name, mine.order) == (other.own_name, order)
            and np.array_equal(mine.rows, its.rows)
        )


class _Seen(NamedTuple):
    """What the shared part of a job is called, and what of it could be compared."""

    named: Any  # what the name is of
    name: str
    opaque: str  # what cannot be compared; "": nothing, or a key names it
    outline: Outline
    unsure: bool
    stored: str = ""  # what the dataset is called without what is done to its rows


class Looker:
    """Looks at a loader's dataset, again and again."""

    def __init__(self, settings: Settings) -> None:
        """Know the rest of the loader's arguments."""
        self._settings = settings
        self._memory, self._own_memory = Memory(), Memory()
        self._first: str | None = None  # what the dataset was, if a key names it

    def look(self, dataset: Any, order: str, batch_size: int) -> Sight:
        """Return what there is to read now, in an order of the daemon's, so many rows at a time."""
        its = self._settings
        base, joined = self._split(dataset)
        shared, own = self._parts(base.base)
        if self._needs_no_daemon(base.base):
            return self._at_hand(base, shared, own, order, batch_size)
        seen = self._seen(shared, joined.named if joined else base.base)
        table = _table(joined)
        own_seen = look(own, name="transform", memory=self._own_memory) if own.steps.steps else None
        own_opaque = own_seen.opaque if own_seen else ""
        deterministic = its.deterministic or shared.deterministic
        of_its_own = its.private and not deterministic  # they are a function of its seed
        private = of_its_own or bool(seen.opaque) or its.alone
        ground = NO_GROUND if private or its.key is not None else ground_of(shared)
        about = About(
            outline=seen.outline,
            key=its.key or "",
            shared=shared,
            own=own,
            rows=len(base.base),
            table=table.name if table else "",
            deterministic=deterministic,
            private=of_its_own,
            seeded=order == "seeded" and not deterministic,
            opaque=seen.opaque,
            runs={} if its.key else place_in_words(),
        )
        job = Job(
            settings=its,
            recipe=seen.name,
            place="" if its.key is not None else place(),
            rows=base.rows,
            row_limit=len(base.base),
            batch_size=batch_size,
            order=order,
            fresh=not deterministic,
            shared=shared,
            own=own,
            rank=its.rank,
            reads_for=its.rank.start if its.rank else "",
            named=seen.named,
            lending=self._lending(seen.opaque or own_opaque, shared.dataset),
            private=f" of {its.whose}" if private else "",
            table=about.table,
            ground=ground,
            stored="" if ground.pieces else self._stored(shared, joined, seen),
            about=about,
        )
        return Sight(
            job,
            Identity(NOT_COMPARABLE if seen.opaque else seen.name, seen.outline, base.rows, table),
            joined,
            opaque=seen.opaque,
            own_name=own_seen.name if own_seen else "",
            unsure=seen.unsure or bool(own_opaque),
        )

    def is_deterministic(self, dataset: Any) -> bool:
        """Tell whether rows are known to come out the same each time."""
        base, _ = self._split(dataset)
        return self._parts(base.base)[0].deterministic

    def _split(self, dataset: Any) -> tuple[Unwrapped, Joining | None]:
        """Return what is read row by row, and what is put beside it here."""
        its = self._settings
        plain = its.prepare.built_in and its.transform.built_in and its.worker_init_fn is None
        return tables.split(unwrap(dataset), plain)

    def _at_hand(
        self, base: Unwrapped, shared: SharedPart, own: OwnPart, order: str, batch_size: int
    ) -> Sight:
        """Return what there is to read of rows that take no time."""
        its = self._settings
        job = Job(
            settings=its,
            recipe="",
            place="",
            rows=base.rows,
            row_limit=len(base.base),
            batch_size=batch_size,
            order=order,
            fresh=not (its.deterministic or shared.deterministic),
            shared=shared,
            own=own,
            rank=None,
            reads_for="",
            at_hand=True,
        )
        identity = Identity.to_be_seen(lambda: self._name_of(shared), base.rows)
        if its.keeps_state or its.key is not None:
            # A state must hold what the dataset was when the pass began, or at the first look.
            _ = identity.key
        return Sight(job, identity, None, opaque="", own_name="", unsure=False)

    def _name_of(self, shared: SharedPart) -> tuple[str, Outline]:
        seen = self._seen(shared, shared.dataset)
        return NOT_COMPARABLE if seen.opaque else seen.name, seen.outline

    def _needs_no_daemon(self, dataset: Any) -> bool:
        """Tell whether rows are known to take less time than to ask for them would.

        A job that may not do without a daemon has one, and so have ranks: all of them or none.
        """
        its = self._settings
        if its.num_workers or its.rank is not None or not (its.bare and its.fallback):
            return False
        if isinstance(dataset, Storage):
            return False
        return bool(its.at_hand) or (its.num_workers is None and self._is_in_memory(dataset))

    def _parts(self, dataset: Any) -> tuple[SharedPart, OwnPart]:
        """Return what is done to a dataset's rows: for all who read it so, and for this job."""
        its = self._settings
        with_torch = its.worker_init_fn is not None and torch_api.loaded() is not None
        return SharedPart(dataset, its.prepare, its.worker_init_fn, with_torch), OwnPart(
            its.transform
        )

    def _seen(self, shared: SharedPart, dataset: Any) -> "_Seen":
        """Look at the shared part of a job; `dataset` is what it is named by."""
        its = self._settings
        bare = not shared.steps.steps and its.worker_init_fn is None
        named = dataset if bare else replace(shared, dataset=dataset)
        seen = look(named, max_lines=MOST_LINES, memory=self._memory)
        unsure = bool(seen.opaque)
        if its.key is None:
            return _Seen(named, seen.name, seen.opaque, seen.outline, unsure)
        # A key names the dataset as it was when it was first looked at; what cannot be compared
        # counts as unchanged.
        name = its.key
        if not seen.opaque:
            self._first = self._first or seen.name
            name += f", changed to {seen.name}" if seen.name != self._first else ""
        stored = name
        if not bare:  # it names the dataset, not what is done to it
            name += f" {fingerprint(replace(shared, dataset=None))}"
        return _Seen(named, name, "", [] if its.key else seen.outline, unsure, stored)

    def _stored(self, shared: SharedPart, joined: Joining | None, seen: _Seen) -> str:
        """Return what a job is called that reads the same rows, and does nothing to them."""
        if seen.opaque or self._settings.alone or not shared.reads_apart:
            return ""
        named = joined.named if joined else shared.dataset
        return seen.stored or look(named, max_lines=MOST_LINES, memory=self._memory).name

    def _lending(self, opaque: str, dataset: Any) -> Lending | None:
        """Return which workers the job brings; None if it is to read by itself."""
        its = self._settings
        if its.num_workers == 0 or its.keeps_state:
            return None
        if its.num_workers is None:
            # Nobody asked for processes: none if rows are at hand, if one might do what the job
            # would not, or if it would have to load the script anew, which not every script
            # survives.
            if its.at_hand or self._is_in_memory(dataset):
                return None
            if opaque or _asks_the_user(dataset) or not is_forking(context_of(its.context)):
                return None
            return Lending(0, its.context, cores(), watched=its.at_hand is None)
        return Lending(its.num_workers, its.context, its.num_workers)

    def _is_in_memory(self, dataset: Any) -> bool:
        """Tell whether rows are known to be in memory, as they are to be, whatever they are."""
        kind = type(dataset)
        built_in = kind in (list, tuple, dict, range)
        built_in = built_in or (kind is np.ndarray and dataset.flags.owndata)  # not of a file
        return self._settings.bare and (built_in or torch_api.is_in_memory(dataset))


def _table(joined: Joining | None) -> "Joined | None":
    loaded = loaded_class("joader.client.dataset.joined_table", "Joined")
    return cast("Joined", joined) if isinstance(joined, loaded) else None


def _asks_the_user(dataset: Any) -> bool:
    """Tell whether a dataset's code stops for somebody at the keyboard, as far as it shows."""
    code = getattr(getattr(type(dataset), "__getitem__", None), "__code__", None)
    return bool({"breakpoint", "input", "set_trace"}.intersection(getattr(code, "co_names", ())))
