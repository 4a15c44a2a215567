"""The other nodes of a cluster: which there are, what they can prepare, how far they have read.

A company (cluster/contract.py) reports which nodes there are and what each announces. This class
holds a link to every node that has workers for a recipe that is read here. It announces which
recipes this node's workers can prepare, and how far its streams are, so that jobs on all nodes read
the same rows at about the same time.

Without news from other nodes, everything works as on a single machine. Not here: rows that come in
(fetching.py) and go out (guests.py), homes of rows (schedule/nodes/placement.py).
"""

import asyncio
import logging
import socket
from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b
from typing import Any

import msgspec

from joader.cluster.address import ByAddress
from joader.cluster.byte_server import ByteServer, Load, Question
from joader.cluster.contract import LASTING, Company
from joader.cluster.leader_address import Address
from joader.cluster.listener import Listener
from joader.cluster.rank_line import PURPOSE as RANKS
from joader.daemon import traffic
from joader.daemon.clocks import Clocks
from joader.daemon.fetching import Fetching, Route
from joader.daemon.guests import Guest, Guests
from joader.daemon.heirs import Heir, Heirs
from joader.daemon.holdings import Holdings
from joader.daemon.joint import PURPOSE as JOINT
from joader.daemon.joint import Joint
from joader.daemon.leaving import Leaving
from joader.daemon.links import Links
from joader.daemon.ranks import Ranks
from joader.daemon.registration import Registration
from joader.daemon.session import Session
from joader.daemon.where import Location, Where
from joader.engine import Engine
from joader.messages import (
    Event,
    Failed,
    LastCopies,
    Lost,
    Place,
    Prepare,
    Prepared,
    Register,
)
from joader.messages.nodes import AskHeld, Enough, Knock, Members, Node
from joader.statistics import CacheStatistics, ClusterStatistics

log = logging.getLogger("joader.cluster")

# How often other nodes hear how far we are, with few nodes; less often with many, because each
# announcement goes to all.
TICK_S = 0.1
_FEW = 8
_ABLE, _KEEP, _LEAVES, _TEAMS, _JOINT = "able", "keep", "leaves", "teams", "joint"
_CLOCK, _TRAFFIC, _OPENED = "clock ", "traffic", f"{LASTING}opened "


class Neighbors:
    """All other nodes, as this one knows them."""

    def __init__(
        self,
        node: Node,
        key: bytes,
        *,
        engine: Engine,
        registration: Registration,
        fetching: Fetching,
        guests: Guests,
        ranks: Ranks,
        joint: Joint,
    ) -> None:
        """Start without other nodes."""
        self.node, self._key = node, key
        self._engine, self._registration = engine, registration
        self._fetching, self._guests = fetching, guests
        self._ranks, self._joint = ranks, joint
        self._tell = fetching.tell
        self._leaving = Leaving(engine, registration)
        self._clocks = Clocks(engine, registration, fetching.tell)
        self._heirs = Heirs(
            node.name,
            engine=engine,
            registration=registration,
            trust=fetching.trust,
            tell=fetching.tell,
            on_enough=self._has_enough,
            salt=self._clocks.salt,
        )
        self.company: Company | None = None
        self._listener: Listener | None = None
        self._servers: set[ByteServer] = set()
        self._links = Links(
            node,
            key,
            fetching.arena,
            find=self._find,
            on_up=self._ask_held,
            on_arrival=fetching.arrived,
            on_held=lambda name, held: self._holdings.told(name, held),
            on_end=fetching.ended,
        )
        self._holdings = Holdings(engine, registration, self._links.to)
        fetching.on_missing = self._holdings.missing
        self._where = Where(
            node,
            clocks=self._clocks,
            registration=registration,
            leaving=self._leaving,
            holdings=self._holdings,
        )
        ranks.homes = self._where.now
        self._memory = CacheStatistics()
        self.delivered = 0  # samples, to jobs of this node; announced to others
        self._traffic: dict[str, dict[str, int]] = {}  # by node: its last announcement
        self._said_clocks: set[str] = set()  # recipes whose clocks were announced
        self._ticking: asyncio.TimerHandle | None = None

    # Coming and going.

    async def join(self, address: Address, sock: socket.socket, may_lead: bool) -> None:
        """Join the cluster at an address, or raise; others connect to `sock` for bytes."""
        self._listener = Listener(sock, self._key, self._let_in)
        company = ByAddress(address, self._key, self.node, self, may_lead)
        try:
            await company.join()
        except BaseException:
            self._listener.close()
            raise
        self.company = company
        self._tick()

    def move(self, address: Address) -> None:
        """Look for the leader at another address."""
        if self.company is not None:
            self.company.move(address)

    def hand_over(self, done: Callable[[], None]) -> None:
        """Stop being a home, and let others take what only this node has."""
        if self.company is None or not self.company.reached:
            return done()
        self._leaving.said = self._leaving.offers()
        self._say()
        linked = {server.node.name for server in self._servers}
        self._leaving.begin(self._where.able, linked, done)

    async def leave(self) -> None:
        """Leave: others are told at once, and nothing is written to the arena any more."""
        if self._ticking is not None:
            self._ticking.cancel()
        if self.company is not None:
            await self.company.leave()
        if self._listener is not None:
            self._listener.close()
        self._ranks.close()
        self._joint.close()
        self._links.close()
        for server in self._servers:
            server.close()

    def members_changed(self, members: Members) -> None:
        """Take in which nodes there are now."""
        before = {node.name: node for node in self._where.members.nodes}
        self._where.members = members
        now = {node.name: node for node in members.nodes}
        self._ranks.members_changed(now)
        self._joint.members_changed(members.nodes)
        for name, node in before.items():
            if name != self.node.name and now.get(name) != node:
                self._forget(name)

    def _forget(self, name: str) -> None:
        """Forget a node that is gone or was restarted."""
        self._where.able.pop(name, None)
        self._where.keep.pop(name, None)
        self._holdings.forget(name)
        self._traffic.pop(name, None)
        self._clocks.forget(name)
        self._joint.forget(name)
        self._fetching.forget(name)
        self._heirs.forget(name)
        self._leaving.has_enough(name)
        self._tell(LastCopies())
        self._links.forget(name)

    def said(self, node: str, values: Mapping[str, bytes]) -> None:
        """Take in the announcement of another node."""
        try:
            for name, value in values.items():
                if name == _ABLE:
                    self._where.able[node] = frozenset(_decoded(value, list[str]) if value else ())
                    if not self._where.able[node]:
                        self._leaving.has_enough(node)
                elif name == _KEEP:
                    self._where.keep[node] = frozenset(_decoded(value, list[str]) if value else ())
                elif name == _TRAFFIC:
                    self._traffic[node] = _decoded(value, dict[str, int]) if value else {}
                elif name == _TEAMS:
                    self._ranks.said(node, value)
                elif name == _JOINT:
                    self._joint.said(node, value)
                elif name.startswith(_CLOCK):
                    self._clocks.said(node, name.removeprefix(_CLOCK), value)
                elif name.startswith(_OPENED) and not node:
                    self._clocks.before(name.removeprefix(_OPENED), value)
            if _ABLE in values or _KEEP in values:
                self._ask_held()
            if values.get(_LEAVES) and self._links.up(node) is not None:
                # After the rest of the announcement. Without a link, nothing was ever taken from
                # it.
                stay = [one for one in self._where.cluster() if one.name != node]
                said = _decoded(values[_LEAVES], dict[str, bytes])
                self._heirs.take(node, said, stay, self._where.able)
        except msgspec.MsgspecError as error:
            log.warning("cannot decode the state announced by node %s: %s", node, error)

    def _has_enough(self, name: str) -> None:
        link = self._links.up(name)
        if link is not None:
            link.enough()

    def _let_in(self, sock: socket.socket, knock: Knock) -> None:
        if knock.purpose in (RANKS, JOINT):
            (self._ranks if knock.purpose == RANKS else self._joint).let_in(sock, knock)
            return
        server = ByteServer(sock, knock, self._fetching.arena, self._asked, self._server_ended)
        self._servers.add(server)

    def _asked(self, server: ByteServer, ask: Question) -> None:
        match ask:
            case Enough():
                self._leaving.has_enough(server.node.name)
            case AskHeld():
                server.send(Load(self._holdings.held(ask.recipe)))
            case _:
                self._guests.asked(server, ask)

    def _server_ended(self, server: ByteServer) -> None:
        self._servers.discard(server)
        self._guests.gone(server)
        self._leaving.has_enough(server.node.name)

    # Rows.

    def take(self, order: Prepare, code: str) -> Prepare | None:
        """Take the rows that other nodes are asked for; return the rest, for the workers here."""
        host = self._registration.host_of_code(code)
        asks = self._registration.sessions.get(order.job)
        if host is None:
            self._fetching.note_here(order, code)
            return order
        recipe = host.everywhere
        if isinstance(asks, Heir):
            return self._fetching.inherit(order, code, recipe, self._links.up(asks.node))
        assert host.register is not None
        row_limit = host.register.join.row_limit
        places = self._where.places(
            recipe,
            order.rows,
            lambda node: self._fetching.trust.is_trusted(recipe, node, row_limit),
            for_guest=isinstance(asks, Guest),
        )
        if places is None:
            self._fetching.note_here(order, code)
            return order
        routes = list(map(self._route, places))
        return self._fetching.take(order, code, recipe, row_limit, routes)

    def _route(self, place: Location | None) -> Route | None:
        link = self._links.to(place.node) if place is not None else None
        if place is None or link is None:
            return None
        return Route(link, place.moves, self._links.to(place.instead) if place.instead else None)

    def take_rank(self, session: Session, message: Register) -> bool:
        """Put a relay before a job that another node plans for; return whether it may register."""
        self._ranks.take(session, message)
        self._joint.take(session, message)
        return True

    def end(self) -> None:
        """Do nothing: no rank waits for a cluster."""

    def place(self, message: Place) -> Place | None:
        """Place samples from other nodes that did not fit; return the rest."""
        return self._fetching.place(message)

    def drop(self, samples: Iterable[int]) -> None:
        """Forget samples that no job wants any more."""
        self._fetching.drop(samples)

    def flush(self) -> None:
        """Send the requests for all rows taken in this turn."""
        self._fetching.flush()

    def reported_here(self, event: Event) -> None:
        """Take in reports of this node's workers."""
        match event:
            case Prepared():
                self._fetching.prepared_here(event, self._engine.offset_of)
            case Failed():
                self._fetching.not_prepared((event.sample,))
            case Lost():
                self._fetching.not_prepared(event.samples)

    def whereabouts(self, sample: int) -> str:
        """Say in words where a sample is, if it comes from another node."""
        return self._fetching.whereabouts(sample)

    def _find(self, name: str) -> Node | None:
        return next((one for one in self._where.members.nodes if one.name == name), None)

    def _ask_held(self) -> None:
        if not self._leaving.begun:
            self._holdings.look(self._where.able, self._where.keep)

    # Orders that all nodes share.

    def stream(self, recipe: str) -> int:
        """Return where the orders of a recipe start, the same on all nodes."""
        text = f"{self._where.members.nonce} {recipe}".encode()
        return 1 + int.from_bytes(blake2b(text, digest_size=7).digest(), "big")

    def joined(self, recipe: str) -> None:
        """Tell the engine how far others are in a joining job's recipe, and announce the recipe."""
        self._clocks.joined(recipe)
        self._ranks.settle()
        self._say()
        self._ask_held()

    def _tick(self) -> None:
        """Announce this node's state; reschedules itself."""
        self._ranks.settle()
        self._joint.settle()
        interval_s = TICK_S * max(1.0, len(self._where.members.nodes) / _FEW)
        self._ticking = asyncio.get_running_loop().call_later(interval_s, self._tick)
        self._say()
        self._ask_held()
        self._links.beat()

    def _say(self) -> None:
        if self.company is None:
            return
        hosts = self._registration.hosts()
        able = [] if self._leaving.begun else sorted(hosts)
        keep = [] if self._leaving.begun else self._holdings.kept()
        own = traffic.own_traffic(self._fetching.counts, self._guests, self._memory, self.delivered)
        values = {
            _ABLE: msgspec.msgpack.encode(able),
            _KEEP: msgspec.msgpack.encode(keep),
            _TRAFFIC: msgspec.msgpack.encode(own),
            _LEAVES: self._leaving.said,
            _TEAMS: self._ranks.hosted(),
            _JOINT: b"" if self._leaving.begun else self._joint.can_draw(),
        }
        for recipe in self._said_clocks - hosts.keys():
            values[_CLOCK + recipe] = b""
        if not self._leaving.begun:
            self._guests.let_go(hosts.keys())
        for recipe, host in hosts.items():
            values[_CLOCK + recipe] = self._clocks.of(host)
            values[_OPENED + recipe] = self._clocks.latest(recipe)
        self._said_clocks = set(hosts)
        self.company.say(values)

    def statistics(self, memory: CacheStatistics) -> ClusterStatistics:
        """Return the nodes and the traffic between them; also announces our memory to others."""
        self._memory = memory
        return traffic.statistics(
            self.node,
            self._where.members,
            counts=self._fetching.counts,
            guests=self._guests,
            memory=memory,
            delivered=self.delivered,
            leader_reached=self.company is not None and self.company.reached,
            told=self._traffic,
            linked=lambda name: self._links.up(name) is not None,
            recipes=lambda name: len(self._where.able.get(name, ())),
        )


def _decoded(value: bytes, kind: Any) -> Any:
    return msgspec.msgpack.decode(value, type=kind)
