"""Ranks of jobs that run on several nodes: the ranks of this node, and the teams it plans.

The node of a team's rank 0 hosts the team and announces that; other nodes connect to it when they
have a rank of the team. Hosts are not searched for: a rank waits for the announcement. If a
connection ends, its ranks form the team again, wherever rank 0 is by then.

A rank and a host on the same node take the same path, in later turns of the loop, because a message
may come while the daemon carries out instructions.
"""

import asyncio
import logging
import socket
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from joader.cluster.rank_line import PURPOSE, RankLine
from joader.daemon.lines import Lines
from joader.daemon.rank_host import FarRank, Homes, HostedTeam
from joader.daemon.rank_relay import Relay
from joader.daemon.registration import Registration
from joader.daemon.session import Session
from joader.engine import Engine
from joader.errors import JoaderError
from joader.messages import Event, Register
from joader.messages.nodes import Knock, Node
from joader.messages.ranks import Disband, Enter, ToRank

log = logging.getLogger("joader.cluster")

_Say = Callable[[ToRank], None]


class Ranks:
    """All relays and teams of one node."""

    def __init__(
        self,
        node: Node,
        key: bytes,
        *,
        engine: Engine,
        registration: Registration,
        tell: Callable[[Event], None],
    ) -> None:
        """Start without ranks."""
        self._node = node
        self._engine, self._registration, self._tell = engine, registration, tell
        self.homes: Callable[[str], Homes | None] = lambda recipe: None
        self._members: Mapping[str, Node] = {}
        self._relays: dict[int, Relay] = {}  # by job
        self._waiting: list[Relay] = []  # relays whose jobs have no number yet
        self._teams: dict[str, HostedTeam] = {}  # teams planned here
        self._far: dict[tuple[RankLine | None, int], tuple[HostedTeam, FarRank]] = {}
        self._hosts: dict[str, frozenset[str]] = {}  # by node: teams planned there
        self._lines = Lines(node, key, PURPOSE, self._from_host, self._host_lost)  # lines to hosts

    # Who is there.

    def members_changed(self, members: Mapping[str, Node]) -> None:
        """Take in which nodes there are now; lines end separately."""
        self._members = members
        self._hosts = {name: teams for name, teams in self._hosts.items() if name in members}

    def said(self, node: str, value: bytes) -> None:
        """Take in which teams another node hosts."""
        self._hosts[node] = frozenset(
            msgspec.msgpack.decode(value, type=list[str]) if value else ()
        )
        self.settle()

    def hosted(self) -> bytes:
        """Return which teams are hosted here, to announce to others."""
        return msgspec.msgpack.encode(sorted(self._teams)) if self._teams else b""

    def close(self) -> None:
        """Close all lines."""
        self._lines.close()

    # Ranks that are here.

    def take(self, session: Session, message: Register) -> None:
        """Put a relay between a rank's session and the engine if other ranks may be elsewhere."""
        join = message.join
        if join.team and join.ranks_here != join.world_size:
            relay = Relay(session, message, self._engine, self._tell)
            session.relay, session.tell = relay, relay.tell
            self._waiting.append(relay)

    def settle(self) -> None:
        """Enter ranks into teams whose host is known now; reassign rows of teams."""
        for relay in [one for one in self._waiting if one.job]:
            self._relays[relay.job] = relay
        self._waiting = [one for one in self._waiting if not one.job and not one.ended]
        self._relays = {job: one for job, one in self._relays.items() if not one.ended}
        for relay in self._relays.values():
            if not relay.host and relay.job in self._registration.sessions:
                self._find_host(relay)
        for name, team in list(self._teams.items()):
            if not team.ranks and not any(one.host == self._node.name for one in self._of(name)):
                del self._teams[name]
            else:
                team.reassign()

    def _of(self, team: str) -> list[Relay]:
        return [relay for relay in self._relays.values() if relay.join.team == team]

    def _find_host(self, relay: Relay) -> None:
        team = relay.join.team
        if relay.join.rank == 0 and team not in self._teams:
            self._teams[team] = self._hosted_team(relay)
        if team in self._teams:
            relay.enter(
                self._node.name, lambda message: self._soon(self._hear_rank, relay, message)
            )
            return
        host = next((name for name, teams in self._hosts.items() if team in teams), None)
        node = self._members.get(host) if host else None
        line = self._lines.to(node) if node is not None else None
        if line is not None and host is not None:
            relay.enter(host, line.send)

    def _from_host(self, line: RankLine, message: Any) -> None:
        relay = self._relays.get(message.job)
        if relay is not None and relay.host == line.node.name:
            self._hear_host(relay, message)

    def _hear_host(self, relay: Relay, message: Any) -> None:
        try:
            relay.hear(message)
        except (JoaderError, LookupError, ValueError) as error:
            log.exception("job %d, from the host of its team: %.200r", relay.job, message)
            relay.session.refuse(f"the plan of node {relay.host} is invalid: {error!r}")

    def _host_lost(self, line: RankLine, reason: str) -> None:
        name = line.node.name
        for relay in list(self._relays.values()):
            if relay.host == name:
                relay.lost(f"node {name}, its host, cannot be reached: {reason}")

    # Teams that are planned here.

    def let_in(self, sock: socket.socket, knock: Knock) -> None:
        """Take in the line of a node that has ranks of a team."""
        self._lines.accept(sock, knock, self._from_rank, self._ranks_lost)

    def _hosted_team(self, relay: Relay) -> HostedTeam:
        session, known = relay.session, self._engine.rows_of(relay.job)
        recipe = relay.everywhere
        return HostedTeam(
            relay.join.team,
            relay.data,
            replace(
                relay.join,
                recipe=session.common or session.recipe,
                rows=known.rows.astype(np.int64),
                row_limit=known.row_limit,
            ),
            relay.settings,
            engine=self._engine,
            registration=self._registration,
            tell=self._tell,
            homes=lambda: self.homes(recipe) if recipe else None,
        )

    def _from_rank(self, line: RankLine, message: Any) -> None:
        self._hear(line, line.node.name, line.send, message)

    def _hear_rank(self, relay: Relay, message: Any) -> None:
        """Take in a message of a rank of this node."""

        def say(answer: ToRank) -> None:
            self._soon(self._hear_host, relay, answer)

        self._hear(None, self._node.name, say, message)

    def _hear(self, line: RankLine | None, node: str, say: _Say, message: Any) -> None:
        key = line, message.job
        if isinstance(message, Enter):
            team = self._teams.get(message.team)
            far = team.enter(message, node, say) if team is not None else None
            if team is None:
                say(Disband(message.job, "its team is not hosted there"))
            elif far is not None:
                self._far[key] = team, far
        elif key in self._far:
            team, far = self._far[key]
            team.hear(far, message)
        if self._far.get(key) and self._far[key][1] not in self._far[key][0].ranks.values():
            del self._far[key]

    def _ranks_lost(self, line: RankLine, reason: str) -> None:
        lost = {key: team for key, (team, _) in self._far.items() if key[0] is line}
        for key, team in lost.items():
            del self._far[key]
            team.disband(f"node {line.node.name} is lost: {reason}")

    def _soon(self, what: Callable[..., None], *arguments: Any) -> None:
        asyncio.get_running_loop().call_soon(what, *arguments)
