"""The team of a job with ranks on several nodes, at the node of rank 0, which plans for all.

To the engine here every rank is *remote*: it is told steps, has them granted, and gets its samples
on its own node. Ranks of this node take the same path, without a network.

No rank continues alone: if a node is lost, all ranks form the team again (`disband`). If a single
rank leaves, the others are refused when they need it, as on one node.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from joader.daemon.registration import Registration
from joader.daemon.session import Session
from joader.engine import Engine
from joader.errors import BadArgument, JoaderError
from joader.messages import (
    Begin,
    Event,
    Grant,
    JobSettings,
    Join,
    Know,
    Leave,
    Reassign,
    Refuse,
    Steps,
    Want,
)
from joader.messages.ranks import AskRanks, Assign, Disband, Enter, Ranks, ToRank
from joader.wire import Allowance

log = logging.getLogger("joader.cluster")


class FarRank(Session):
    """A rank at its host, in place of a client's connection."""

    def __init__(self, enter: Enter, node: str, say: Callable[[ToRank], None]) -> None:
        """Stand for a rank instead of a process; what it is told goes to its relay."""
        super().__init__(0, lambda *_: None, lambda *_: None, Allowance(1 << 62))
        self.elsewhere = self.remote = True
        self.node, self.say, self.called = node, say, enter.job
        self.rank, self.world_size = enter.rank, enter.world_size
        self.name = f"rank {enter.rank} on node {node}"
        self.on_end: Callable[[str], None] = lambda reason: None
        self.on_refuse: Callable[[FarRank], None] = lambda far: None
        self.life = 0

    def send(self, *messages: Any) -> None:
        """Pass the engine's messages on to the rank."""
        for message in messages:
            if isinstance(message, Steps):
                self.say(replace(message, job=self.called, life=self.life))
            elif isinstance(message, Grant):
                self.say(replace(message, job=self.called))

    def refuse(self, reason: str) -> None:
        """Tell the rank why it cannot continue."""
        self.say(Refuse(reason, self.called))
        self.on_refuse(self)

    def end(self) -> None:
        """Disband the team, because the daemon ends."""
        self.on_end("its daemon ends")


@dataclass(frozen=True)
class Homes:
    """The homes of a recipe's rows, as far as this node knows."""

    members: int
    nodes: tuple[tuple[str, int], ...]
    able: tuple[str, ...]
    salt: int


@dataclass(eq=False)
class HostedTeam:
    """One team, and the engine's remote job per rank."""

    name: str
    data: bytes
    join: Join  # of rank 0
    settings: JobSettings  # of rank 0, too
    engine: Engine
    registration: Registration
    tell: Callable[[Event], None]
    homes: Callable[[], Homes | None]
    ranks: dict[int, FarRank] = field(default_factory=dict)
    _assigned: tuple[Homes, tuple[int, ...]] | None = None
    _version: int = 0

    def enter(self, message: Enter, node: str, say: Callable[[ToRank], None]) -> FarRank | None:
        """Add a rank; return None if it is refused."""
        far = FarRank(message, node, say)
        far.on_end, far.on_refuse, far.life = self.disband, self._forget, self.engine.life
        try:
            if message.data != self.data:
                raise BadArgument(
                    f"rank {message.rank} of job {self.name!r}, on node {node}, reads other data "
                    "than rank 0, or in another way; all ranks of a job read the same dataset, "
                    "with the same arguments"
                )
            self.registration.enter(
                far,
                replace(
                    self.join,
                    team=self.name,
                    rank=message.rank,
                    world_size=message.world_size,
                    batch_size=message.batch_size,
                    drop_last=message.drop_last,
                    own=False,
                    remote=True,
                    reads_itself=False,
                ),
            )
        except JoaderError as error:
            far.refuse(str(error))
            return None
        self.ranks[message.rank] = far
        self._assigned = None  # it knows no version yet
        self.reassign()
        return far

    def hear(self, far: FarRank, message: Any) -> None:
        """Take in a message of a rank."""
        assert far.job is not None
        if self.registration.sessions.get(far.job) is not far:
            return  # it was refused, but does not know yet
        try:
            match message:
                case Begin():
                    far.number = message.number
                    self.tell(replace(message, job=far.job))
                case Want():
                    now = asyncio.get_running_loop().time()
                    self.tell(replace(message, job=far.job, now=now))
                case Know():
                    self.tell(replace(message, job=far.job))
                case AskRanks():
                    far.say(Ranks(far.called, *self.engine.waits_for_ranks(far.job)))
                case Leave():
                    self._leave(far)
                case Disband():
                    self.disband(f"the daemon of node {far.node} ends")
        except JoaderError as error:
            far.refuse(str(error))
            self._leave(far)

    def disband(self, reason: str) -> None:
        """Send all ranks away to form the team again."""
        ranks, self.ranks = self.ranks, {}
        if ranks:
            log.info("the ranks of job %s form their team again: %s", self.name, reason)
        for far in ranks.values():
            far.say(Disband(far.called, reason))
            self.registration.leave(far)

    def reassign(self) -> None:
        """Assign future steps by the present homes of rows."""
        first = next(iter(self.ranks.values()), None)
        if not self.settings.locality or first is None or len(self.ranks) < first.world_size:
            return
        homes = self.homes()
        if homes is None:
            return
        at = {name: place for place, (name, _) in enumerate(homes.nodes)}
        node_of_rank = tuple(at.get(far.node, -1) for _, far in sorted(self.ranks.items()))
        assigned = homes, node_of_rank
        if min(node_of_rank) < 0 or assigned == self._assigned:
            return
        self._assigned = assigned
        self._version += 1
        for far in self.ranks.values():
            far.say(
                Assign(
                    far.called,
                    self._version,
                    members=homes.members,
                    nodes=homes.nodes,
                    able=homes.able,
                    salt=homes.salt,
                    node_of_rank=node_of_rank,
                )
            )
        assert first.job is not None
        self.tell(Reassign(first.job, self._version))

    def _leave(self, far: FarRank) -> None:
        self._forget(far)
        self.registration.leave(far)

    def _forget(self, far: FarRank) -> None:
        if self.ranks.get(far.rank) is far:
            del self.ranks[far.rank]
