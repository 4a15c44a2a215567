"""What a loader's job is: all that a daemon is told of it, and all it takes to do without one.

What this process is called by the daemon: a random name, and another one after a fork.

All that it reads, with whichever of its loaders, it reads for this name. So a script that makes a
loader for each epoch never gets the same random sample twice, and its passes are of one job.
"""

import os
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from joader.client.dataset.description import About
from joader.client.dataset.ground import NO_GROUND, Ground
from joader.client.order.source import random_key
from joader.client.ranks import Rank
from joader.client.reading.births import Nursery, context_of
from joader.client.reading.connection import Connection
from joader.client.reading.in_job import InJob
from joader.client.reading.no_daemon import Alone
from joader.client.reading.settings import Settings
from joader.client.script import options
from joader.daemon.machine import cores, home
from joader.errors import ConnectionLost
from joader.messages import MY_JOB, Join, Register
from joader.recipe.parts import OwnPart, SharedPart
from joader.recipe.place import place_anywhere
from joader.recipe.watch import NO_SIGNS, ROWS, Found, Signs
from joader.storage import Storage

_name = str(random_key())


def process_name() -> str:
    """Return the name of this process."""
    return _name


def _rename() -> None:
    global _name
    _name = str(random_key())


os.register_at_fork(after_in_child=_rename)


CONNECT_TRIES = 3
# The daemon answers within `timeout`, but this however short that is, or else counts as gone. One
# that was stopped for a while is a pause, not an error.
LEAST_ANSWER_S = 5.0


@dataclass(frozen=True)
class Lending:
    """Which processes a job brings: as torch's `num_workers` says, or its share of the cores."""

    workers: int  # the most; 0: its share of the cores
    context: Any  # of multiprocessing
    shown: int  # what get_worker_info() says of their number
    watched: bool = False  # they are to find out whether rows are at hand


@dataclass(frozen=True, eq=False)
class Job:
    """A dataset, what is done to its rows, and the order they are read in."""

    settings: Settings
    recipe: str
    place: str  # where its code runs, as part of the recipe's name; "": the recipe says it all
    rows: NDArray[np.int64]
    row_limit: int
    batch_size: int  # the most rows it asks for at once, as far as is known
    order: str
    fresh: bool
    shared: SharedPart
    own: OwnPart
    rank: Rank | None
    reads_for: str  # the start of the job, for ranks; empty: this process
    named: Any = None  # what the recipe is named by
    lending: Lending | None = None  # None: the job reads by itself what is not there
    private: str = ""  # ends the recipe's name, so that it is nobody else's
    table: str = ""  # of the catalog, with its version
    ground: Ground = NO_GROUND
    stored: str = ""  # what its rows are called as they are stored, if they are read apart
    about: About | None = None  # what it tells of itself
    at_hand: bool = False  # it reads rows itself that take no time, and needs no daemon

    def bear(self) -> Nursery | None:
        """Start the nursery that the job brings, if it brings one."""
        if self.lending is None:
            return None
        known = self.shared.deterministic or not self.place
        return Nursery(
            context_of(self.lending.context),
            self.shared,
            self.own,
            self.lending.shown,
            signs=self._signs(self.lending),
            named=None if known else self.named,
        )

    def _signs(self, lending: Lending) -> Signs:
        """Return what tells that the job had better read by itself; none if it asked for workers.

        Ranks bring all workers or none: their rows may not be equally quick.
        """
        if lending.workers:
            return NO_SIGNS
        shared = self.shared
        bare = not (shared.steps.steps or self.own.steps.steps or shared.worker_init_fn)
        watched = bare and lending.watched and not isinstance(shared.dataset, Storage)
        if not watched or self.rank is not None:
            return Signs(state=not shared.deterministic)
        # A dataset, or a subset, may have fewer rows than would tell.
        pace = max(1, min(ROWS, self.rows.size))
        return Signs(state=not shared.deterministic, pace=pace, found=Found())

    def connect(
        self, address: str | None, batch_size: int, timeout_s: float, nursery: Nursery | None
    ) -> Connection:
        """Register with the daemon, starting one if there is none."""
        for _ in range(CONNECT_TRIES - 1):
            with suppress(ConnectionLost):  # one that was ending let us in
                return self._registered(address, batch_size, timeout_s, nursery)
        return self._registered(address, batch_size, timeout_s, nursery)

    def alone(self) -> Alone:
        """Do without a daemon."""
        seed = self.settings.seed or 0
        return Alone(self.rows, self.row_limit, self.order, seed, chosen=self.at_hand)

    def in_job(self, *, seeded: bool) -> InJob:
        """Return who reads rows in the job itself."""
        return InJob(self.shared, self.own, keyed=seeded, as_worker=self.lending is not None)

    def _registered(
        self, address: str | None, batch_size: int, timeout_s: float, nursery: Nursery | None
    ) -> Connection:
        connection = Connection(address, answer_s=max(LEAST_ANSWER_S, timeout_s))
        connection.register(self._spec(max(batch_size, self.batch_size), timeout_s, nursery))
        # Not before: a nursery that was killed would look like a daemon that went away.
        connection.serve_with(nursery)
        return connection

    def _spec(self, batch_size: int, timeout_s: float, nursery: Nursery | None) -> Register:
        recipe, place = self.recipe, self.place
        if nursery is not None and nursery.recipe:  # the code was loaded anew, there
            recipe, place = nursery.recipe, nursery.place
        suffix = f" in {place}" if place else ""
        join = Join(
            MY_JOB,
            recipe=f"{recipe}{suffix}{self.private}",
            rows=np.asarray(self.rows, np.int64),
            row_limit=self.row_limit,
            batch_size=batch_size,
            order=self.order,
            seed=self.settings.seed,
            fresh=self.fresh,
            own=bool(self.own.steps.steps) and nursery is not None,
            team=self.rank.team if self.rank else "",
            rank=self.rank.number if self.rank else 0,
            world_size=self.rank.world_size if self.rank else 1,
            drop_last=self.settings.drop_last,
            reads_for=self.reads_for or process_name(),
            reads_itself=nursery is None,
            stored=f"{self.stored}{suffix}" if self.stored else "",
            ranks_here=self.rank.here if self.rank else 0,
        )
        return Register(
            join,
            replace(self.settings.job, timeout_s=timeout_s),  # as the loader is set by now
            ticket=nursery.ticket if nursery else "",
            workers=self.lending.workers if self.lending else 0,
            compare=not self.private,
            waits=self.shared.waits,
            home=home() if nursery else "",
            cores=cores() if nursery else 0,
            table=self.table,
            ground=f"{self.ground.name}{suffix}" if self.ground.pieces else "",
            stored_ground=f"{self.ground.stored}{suffix}" if self.ground.stored else "",
            pieces=tuple(self.ground.pieces),
            about=self.about.to_bytes() if self.about else b"",
            everywhere=self._everywhere(recipe),
            options=options(),
        )

    def _everywhere(self, recipe: str) -> str:
        """Return what the recipe is called on any machine; nothing if it is this job's alone."""
        if self.private:
            return ""
        where = f" in {place_anywhere()}" if self.place else ""
        return f"{recipe}{where} of {self.row_limit}"
