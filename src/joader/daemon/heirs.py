"""Takes over samples that only a leaving node has, as far as this node has room.

A leaving node names those rows (leaving.py). Each is taken by its next home, if that trusts the
leaving node. To the engine an *heir* is a job that is told these rows, without workers and without
needs, as a guest is (guests.py): rows that are here or under way are not requested, the rest comes
from the leaving node and stays as long as jobs will need it. Room is checked once, beforehand:
nothing is evicted for them, and a new node takes no more than it can hold, two parcels at a time.
"""

import asyncio
import logging
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np

from joader.daemon.registration import Registration
from joader.daemon.session import Session
from joader.engine import Engine
from joader.errors import JoaderError
from joader.messages import Array, Begin, Deliver, Event, JobSettings, Join, Register, Release, Want
from joader.schedule.nodes.placement import Node, homes
from joader.schedule.nodes.trust import Trust
from joader.schedule.nodes.worth import MOST_ROWS
from joader.wire import Allowance

log = logging.getLogger("joader.cluster")

# Parcels in flight per leaving node: one travels while it makes the next ready.
_AT_A_TIME = 2


def packed(rows: Array, row_limit: int) -> bytes:
    """Encode rows as a compressed bitmap."""
    flags = np.zeros(row_limit, np.bool_)
    flags[rows] = True
    return zlib.compress(np.packbits(flags).tobytes(), 1)


def unpacked(data: bytes, row_limit: int) -> Array:
    """Decode rows; raise ValueError if they are not a bitmap of `row_limit` rows."""
    most_bytes = -(-row_limit // 8)
    unpacking = zlib.decompressobj()
    try:
        bits = np.frombuffer(unpacking.decompress(data, most_bytes + 1), np.uint8)
    except zlib.error as error:
        raise ValueError(f"cannot decode rows: {error}") from error
    if bits.size != most_bytes:
        raise ValueError(f"{bits.size} bytes for {row_limit} rows")
    return np.flatnonzero(np.unpackbits(bits, count=row_limit))


class Heir(Session):
    """To the engine, a job that is told the rows that a leaving node hands over."""

    def __init__(
        self,
        node: str,
        rows: Array,
        tell: Callable[[Event], None],
        on_end: Callable[["Heir"], None],
    ) -> None:
        """Take these rows of a recipe from a node; `on_end` is called once no more will come."""
        super().__init__(0, lambda *_: None, lambda *_: None, Allowance(1 << 62))
        self.node, self._left = node, rows
        self.taken = self._under_way = 0
        self._tell, self._on_taken = tell, on_end
        self._ended = False

    def go_on(self) -> None:
        """Request the next rows, or finish when none are left."""
        now = asyncio.get_running_loop().time()
        while self.job is not None and self._left.size and self._under_way < _AT_A_TIME:
            some, self._left = self._left[:MOST_ROWS], self._left[MOST_ROWS:]
            self._under_way += 1
            self._tell(Want(self.job, some.size, now, some))
        if not self._under_way:
            self.end()

    def deliver(self, delivery: Deliver) -> None:
        """Release what has come: it stays in memory without a pin."""
        # Later: its instructions must not come in the middle of those being carried out.
        asyncio.get_running_loop().call_soon(self._came, delivery)

    def _came(self, delivery: Deliver) -> None:
        if self._ended:
            return
        self._under_way -= 1
        self.taken += delivery.samples.size
        if delivery.samples.size:
            self._tell(Release(delivery.job, delivery.samples))
        self.go_on()

    def send(self, *messages: object) -> None:
        """Send nothing: there is no client."""

    def refuse(self, reason: str) -> None:
        """End without the remaining rows."""
        log.info("%s ends: %s", self.name, reason)
        self.end()

    def end(self) -> None:
        """End without the remaining rows."""
        if not self._ended:
            self._ended = True
            self._on_taken(self)


class Heirs:
    """All heirs of this node."""

    def __init__(
        self,
        name: str,
        *,
        engine: Engine,
        registration: Registration,
        trust: Trust,
        tell: Callable[[Event], None],
        on_enough: Callable[[str], None],
        salt: Callable[[str], tuple[int, bool]] = lambda recipe: (0, False),
    ) -> None:
        """Start without heirs; `on_enough` is told a node once all has come from it."""
        self._name, self._trust = name, trust
        self._engine, self._registration, self._tell = engine, registration, tell
        self._on_enough, self._salt = on_enough, salt
        self._heirs: dict[str, set[Heir]] = {}  # by leaving node

    def take(
        self,
        node: str,
        said: Mapping[str, bytes],
        stay: Sequence[Node],
        able: Mapping[str, Collection[str]],
    ) -> None:
        """Take over rows that only `node` has, as far as this node is their next home.

        `said` holds rows by recipe (its name on all machines), `stay` all other nodes, `able` the
        recipes of jobs, by node.
        """
        heirs = self._heirs.setdefault(node, set())
        try:
            for everywhere, data in said.items():
                heir = self._heir(node, everywhere, data, stay, able)
                if heir is not None:
                    heirs.add(heir)
        except ValueError as error:
            log.warning("cannot take over what node %s leaves: %s", node, error)
        for heir in list(heirs):
            heir.go_on()
        self._look(node)

    def _heir(
        self,
        node: str,
        everywhere: str,
        data: bytes,
        stay: Sequence[Node],
        able: Mapping[str, Collection[str]],
    ) -> Heir | None:
        host = self._registration.host_of(everywhere)
        if host is None or host.register is None or host.register.pieces or host.fresh:
            return None
        join = host.register.join
        if not self._trust.is_trusted(everywhere, node, join.row_limit):
            return None
        rows = unpacked(data, join.row_limit)
        candidates = [one.name for one in stay if everywhere in able.get(one.name, ())]
        salt, _ = self._salt(everywhere)
        found = homes(rows, stay, {*candidates, self._name}, salt)
        ours = rows[found == [one.name for one in stay].index(self._name)]
        absent = self._engine.inheritance.absent(join.recipe, ours)
        absent = absent[: self._engine.inheritance.room(join.recipe)]
        return self._joined(node, host.register, absent) if absent.size else None

    def forget(self, node: str) -> None:
        """End the heirs of a node that is gone."""
        for heir in list(self._heirs.pop(node, ())):
            heir.end()

    def _joined(self, node: str, register: Register, rows: Array) -> Heir | None:
        heir = Heir(node, rows, self._tell, self._ended)
        join = register.join
        try:
            self._registration.register(
                heir,
                Register(
                    Join(
                        0,
                        join.recipe,
                        np.arange(join.row_limit, dtype=np.int64),
                        join.row_limit,
                        MOST_ROWS,
                        order="told",
                        elsewhere=True,
                        reads_for=f"what node {node} leaves",
                        stream=join.stream,
                    ),
                    JobSettings(f"what node {node} leaves"),
                    compare=False,
                ),
            )
            assert heir.job is not None
            self._tell(Begin(heir.job))
        except JoaderError as error:
            log.info("nothing is taken over from node %s: %s", node, error)
            return None
        return heir

    def _ended(self, heir: Heir) -> None:
        self._registration.leave(heir)
        heirs = self._heirs.get(heir.node)
        if heirs is not None:
            heirs.discard(heir)
            if heir.taken:
                log.info("%d rows are taken over from node %s", heir.taken, heir.node)
            self._look(heir.node)

    def _look(self, node: str) -> None:
        if not self._heirs.get(node, True):
            del self._heirs[node]
            self._on_enough(node)
