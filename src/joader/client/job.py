"""What a loader's job is: all that a daemon is told of it, and all it takes to do without one."""

import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b

import msgspec
import numpy as np
from numpy.typing import NDArray

from joader.client.alone import Alone
from joader.client.code_time import code_time
from joader.client.connection import Connection
from joader.client.grounds import NO_GROUND, Ground
from joader.client.pickled import pickled
from joader.client.ranks import Rank
from joader.errors import ConnectionLost
from joader.messages import Body, Environment, Register, packed
from joader.recipe.parts import OwnPart, SharedPart

CONNECT_TRIES = 3
# The daemon answers within `timeout`, but this however short that is, or else counts as gone. One
# that was stopped for a while is a pause, not an error.
LEAST_ANSWER_S = 5.0


@dataclass(frozen=True)
class Job:
    """A dataset, what is done to its rows, and the order they are read in."""

    name: str
    recipe: str
    anywhere: bool  # its recipe is the same in every folder and with every interpreter
    rows: NDArray[np.int64]
    row_limit: int
    batch_size: int  # the most rows it asks for at once, as far as is known
    order: str
    seed: int
    fresh: bool
    drop_last: bool
    shared: SharedPart
    own: OwnPart
    rank: Rank | None
    reads_for: str  # all passes of the loader, and all its ranks: no random sample comes twice
    table: str = ""  # of the catalog, with its version
    ground: Ground = NO_GROUND
    about: bytes = b""  # what it tells of itself

    def connect(self, address: str | None, batch_size: int, timeout_s: float) -> Connection:
        """Register with the daemon, starting one if there is none."""
        for _ in range(CONNECT_TRIES - 1):
            with suppress(ConnectionLost):  # one that was ending let us in
                return self._registered(address, batch_size, timeout_s)
        return self._registered(address, batch_size, timeout_s)

    def alone(self) -> Alone:
        """Do without a daemon."""
        return Alone(self.shared, self.own, self.rows, self.row_limit, self.order, self.seed)

    def _registered(self, address: str | None, batch_size: int, timeout_s: float) -> Connection:
        connection = Connection(address, answer_s=max(LEAST_ANSWER_S, timeout_s))
        path = tuple(os.path.abspath(entry) for entry in sys.path)
        environment = Environment(sys.executable, path, os.getcwd())
        place = f" in {_digest(environment)}"
        spec = Register(
            self.name,
            self.recipe if self.anywhere else f"{self.recipe}{place}",
            packed(self.rows),
            self.row_limit,
            max(batch_size, self.batch_size),
            self.order,
            self.seed,
            self.fresh,
            environment,
            code_time(),
            pickled(self.own, "transform") if self.own.steps.steps else b"",
            self.rank.team if self.rank else "",
            self.rank.number if self.rank else 0,
            self.rank.world_size if self.rank else 1,
            self.drop_last,
            timeout_s,
            self.reads_for,
            self.table,
            f"{self.ground.name}{place}" if self.ground.pieces else "",
            tuple(self.ground.pieces),
            self.about,
        )
        connection.register(spec, lambda: Body(pickled(self.shared, "dataset")))
        return connection


def _digest(environment: Environment) -> str:
    """Name an environment: the same code may read other files in another folder."""
    return blake2b(msgspec.json.encode(environment), digest_size=8).hexdigest()
