"""One rank of a job that runs on several nodes, at the rank's own node.

To the engine here it is a job that is told what to read. The *host*, the node of rank 0, plans for
all ranks: the relay passes the client's messages on to it, announces coming steps to the client,
and tells the engine the rank's part of each step that the host grants.

A relay is
- *without a host*: it reads what it has reported, then waits, and can tell for which ranks;
- *with a host* that has told it nothing yet: if that is lost, it looks for another;
- *told*: if its host or ranks on other nodes are lost now, its session ends. The client then
  registers again and reports what it knows, and the ranks form a team as in a new daemon.

Not here: where the host is (ranks.py), what it does (rank_host.py).
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable
from hashlib import blake2b
from typing import Any

import numpy as np
from msgspec.structs import replace

from joader.daemon.session import Session
from joader.engine import Engine
from joader.engine.courses import Courses
from joader.engine.team import Step
from joader.errors import BadArgument
from joader.messages import Announce, Begin, Event, Know, Leave, Refuse, Register, Want, Why
from joader.messages.fields import NONE
from joader.messages.ranks import (
    AskRanks,
    Assign,
    Disband,
    Enter,
    FromRank,
    Grant,
    Piece,
    Ranks,
    Steps,
)
from joader.schedule.nodes.placement import Node
from joader.schedule.nodes.step_parts import Placement, by_rank

log = logging.getLogger("joader.cluster")

# How many versions are kept because their steps may still come.
_MOST_VERSIONS = 8


class Relay:
    """Relays messages between a rank and its host."""

    def __init__(
        self, session: Session, message: Register, engine: Engine, tell: Callable[[Event], None]
    ) -> None:
        """Stand between the session and the engine."""
        self.session = session
        self.join, self.settings = replace(message.join, rows=NONE), message.settings
        self.everywhere = message.everywhere  # the recipe's name on all machines
        self.data = _data(message)
        self.told = False
        self.host = ""  # the host's node; empty if none is known
        self.ended = False
        self._engine, self._tell_engine = engine, tell
        self._say: Callable[[FromRank], None] | None = None  # the line to the host
        self._begun: Begin | None = None
        self._number = 0  # of its pass
        self._wants = 0  # that were not granted
        self._next = self._reported = 0  # its next step, and its first unreported step
        self._key = 0
        self._steps: dict[int, Step] = {}  # announced, or reported, and not granted
        self._placements: OrderedDict[int, Placement] = OrderedDict()  # by version
        self._courses: Courses | None = None

    @property
    def job(self) -> int:
        """The number of the job on this node."""
        return self.session.job or 0

    # The host.

    def enter(self, host: str, say: Callable[[FromRank], None]) -> None:
        """Enter the team at the host."""
        self.host, self._say = host, say
        join = self.join
        say(
            Enter(
                self.job,
                join.team,
                rank=join.rank,
                world_size=join.world_size,
                batch_size=join.batch_size,
                drop_last=join.drop_last,
                data=self.data,
            )
        )
        if self._begun is not None:
            say(self._begun)
            for _ in range(self._wants + self._next - self._begun.taken):
                say(Want(self.job, self.join.batch_size))

    def lost(self, reason: str) -> None:
        """Leave this host, because it or other ranks are gone."""
        self._say, self.host = None, ""
        if self.told and not self.ended:
            log.info("job %d (%s) joins its team again: %s", self.job, self.join.team, reason)
            self.session.end()

    def end(self, *, alone: bool) -> None:
        """Tell the host that the rank has left; if not `alone`, its whole daemon ends."""
        self.ended = True
        if self._say is not None:
            say, self._say = self._say, None
            say(Leave(self.job) if alone else Disband(self.job))

    # What the client says.

    def tell(self, event: Event) -> None:
        """Take in an event of the job, in place of the engine."""
        match event:
            case Begin():
                self._begin(event)
            case Want():
                self._wants += 1
                self._pass_on(Want(self.job, event.count))
                if self._next < self._reported:
                    self._granted(self._next)  # even while other ranks or the host are gone
            case Know():
                self._pass_on(event)
            case _:
                self._tell_engine(event)

    def _begin(self, event: Begin) -> None:
        self._number += 1
        self._wants, self._key = 0, event.key
        self._next, self._reported = event.taken, event.taken + len(event.plan)
        self._steps = {
            number: Step.of(*step) for number, step in enumerate(event.plan, event.taken)
        }
        self.session.repeated.clear()
        self._tell_engine(replace(event, taken=0, plan=()))
        self._begun = replace(event, number=self._number)
        self._pass_on(self._begun)

    def _pass_on(self, message: FromRank) -> None:
        if self._say is not None:
            self._say(message)

    def asks_why(self) -> bool:
        """Tell the client which ranks it waits for, if any."""
        if self._wants < self.session.owed:
            return False  # a granted step is not ready here yet
        if self._say is not None:
            self._say(AskRanks(self.job))
        else:
            self.session.send(Why(self._missing(), patience=False))
        return True

    def _missing(self) -> str:
        join = self.join
        return (
            f"rank 0 of {join.world_size} ranks of job {join.team!r} is not here, or gone: no node "
            "of this cluster that can be reached has it (`joader status` shows the nodes)"
        )

    # What the host says.

    def hear(self, message: Any) -> None:
        """Take in a message of the host."""
        if self.ended:
            return
        match message:
            case Assign():
                self._assign(message)
            case Steps() if message.number == self._number:
                self._learn(message)
            case Grant() if message.number == self._number:
                self.told = True
                self._granted(message.step)
            case Ranks():
                self.session.send(Why(message.text or "nothing", patience=message.all_here))
            case Disband():
                self.lost(message.reason)
            case Refuse():
                self._say = None
                self.session.refuse(message.reason)

    def _assign(self, message: Assign) -> None:
        nodes = [Node(name, cores) for name, cores in message.nodes]
        placement = Placement(nodes, frozenset(message.able), message.node_of_rank, message.salt)
        self._placements[message.version] = placement
        while len(self._placements) > _MOST_VERSIONS:
            self._placements.popitem(last=False)

    def _learn(self, message: Steps) -> None:
        """Announce steps to the client."""
        self.told = True
        if message.key != self._key:
            assert self._begun is not None
            self._key = message.key  # before the first step of the pass
            self._tell_engine(replace(self._begun, key=message.key, taken=0, plan=()))
        steps = [self._unpacked(piece) for piece in message.pieces]
        self._steps.update(enumerate(steps, message.first))
        said = [(step.positions, step.repeated, step.life or message.life) for step in steps]
        self.session.send(Announce(self.job, tuple(said), message.key, self.session.number))

    def _unpacked(self, piece: Piece) -> Step:
        rows = self._engine.rows_of(self.job)
        self._courses = self._courses or Courses(rows)
        positions = self._courses.unpack(piece)
        if piece.version:
            placement = self._placements.get(piece.version)
            if placement is None:
                raise BadArgument(f"version {piece.version} of a step was never announced")
            positions = by_rank(positions, rows.rows[positions], placement)
        return Step.of(positions, piece.repeated, piece.life)

    def _granted(self, number: int) -> None:
        """Read the rank's part of a step that the host grants; reported steps are granted, too."""
        if number < self._next:
            return
        step = self._steps.pop(number)
        self._next = number + 1
        self._wants -= 1
        share = step.positions.size // self.join.world_size
        part = slice(self.join.rank * share, (self.join.rank + 1) * share)
        others = np.delete(step.positions, part)
        self.session.repeated.append(step.repeated)
        self._tell_engine(
            Want(
                self.job,
                share,
                asyncio.get_running_loop().time(),
                step.positions[part],
                step.times[part],
                others=others,
            )
        )


def _data(message: Register) -> bytes:
    """Return what all ranks must have in common: their data and how they read it."""
    join = message.join
    words = f"{message.everywhere} {join.row_limit} {join.order} {join.seed} {join.fresh}"
    words += f" {message.settings.locality}"
    return blake2b(words.encode() + join.rows.tobytes(), digest_size=16).digest()
