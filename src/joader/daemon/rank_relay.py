"""One rank of a job that runs on several nodes, as its own node sees it.

To the engine here it is a job that is told what to read. What it is told comes from the *host*, the
node of rank 0, which plans for all: the relay passes on what the client says, announces the steps
that come, and tells the engine the rank's part of each step that the host grants.

A relay is
- *without a host*: it reads what it has reported, and then waits, and can say for whom;
- *with a host*, which has told it nothing yet: if that is lost, it looks for another;
- *told*: if its host is lost now, or ranks on other nodes are, its session ends. The client then
  registers again and reports what it knows, and all ranks meet as they do in a new daemon.

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

# Versions of which steps may still come.
_MOST_VERSIONS = 8


class Relay:
    """What a rank says to its host, and what that says to the rank."""

    def __init__(
        self, session: Session, message: Register, engine: Engine, tell: Callable[[Event], None]
    ) -> None:
        """Stand between this session and the engine."""
        self.session = session
        self.join, self.settings = replace(message.join, rows=NONE), message.settings
        self.everywhere = message.everywhere  # what the recipe is called on any machine
        self.data = _data(message)
        self.told = False
        self.host = ""  # the name of its node; empty: none is known
        self.ended = False
        self._engine, self._tell_engine = engine, tell
        self._say: Callable[[FromRank], None] | None = None  # to the host
        self._begun: Begin | None = None
        self._number = 0  # of its pass
        self._wants = 0  # that were not granted
        self._next = self._reported = 0  # the step it gets next, and the first it has not reported
        self._key = 0
        self._steps: dict[int, Step] = {}  # announced, or reported, and not granted
        self._placements: OrderedDict[int, Placement] = OrderedDict()  # by version
        self._courses: Courses | None = None

    @property
    def job(self) -> int:
        """What this node calls it."""
        return self.session.job or 0

    # The host.

    def enter(self, host: str, say: Callable[[FromRank], None]) -> None:
        """Enter the team at its host."""
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
        """Do without this host: it is gone, or other ranks are."""
        self._say, self.host = None, ""
        if self.told and not self.ended:
            log.info("job %d (%s) meets its other ranks anew: %s", self.job, self.join.team, reason)
            self.session.end()

    def end(self, *, alone: bool) -> None:
        """Let the host know that the rank has left; not `alone`: its daemon ends."""
        self.ended = True
        if self._say is not None:
            say, self._say = self._say, None
            say(Leave(self.job) if alone else Disband(self.job))

    # What the client says.

    def tell(self, event: Event) -> None:
        """Take in what the engine would be told of another job."""
        match event:
            case Begin():
                self._begin(event)
            case Want():
                self._wants += 1
                self._pass_on(Want(self.job, event.count))
                if self._next < self._reported:
                    self._granted(self._next)  # also while other ranks, or the host, are gone
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
        """Find out which ranks it waits for, if for any; the client is told."""
        if self._wants < self.session.owed:
            return False  # it has got leave to read something that is not here yet
        if self._say is not None:
            self._say(AskRanks(self.job))
        else:
            self.session.send(Why(self._missing(), patience=False))
        return True

    def _missing(self) -> str:
        join = self.join
        return (
            f"rank 0 of {join.world_size} ranks of job {join.team!r} is not here, or gone: no node "
            "of this cluster that is reached has it (`joader status` shows the nodes)"
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
            self._key = message.key  # before anything is told of the pass
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
                raise BadArgument(f"a step is of version {piece.version}, which nobody has told")
            positions = by_rank(positions, rows.rows[positions], placement)
        return Step.of(positions, piece.repeated, piece.life)

    def _granted(self, number: int) -> None:
        """Read the rank's part of a step; the host says so, too, of those that it has reported."""
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
    """Return what all ranks must have in common: the data that they read, and how."""
    join = message.join
    words = f"{message.everywhere} {join.row_limit} {join.order} {join.seed} {join.fresh}"
    words += f" {message.settings.locality}"
    return blake2b(words.encode() + join.rows.tobytes(), digest_size=16).digest()
