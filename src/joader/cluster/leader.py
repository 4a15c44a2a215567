"""The leader: keeps the members and their values, and passes both on to all members.

It decides nothing about rows. A member that closes its connection is gone at once, a silent one
after SILENT_S; the version of the membership grows with each change. A member that joins is told
all values of the others, and of lasting values the greatest one ever sent.
"""

import asyncio
import logging
import secrets
import socket
from typing import Any

import msgspec

from joader.cluster.contract import LASTING
from joader.errors import BadMessage
from joader.messages import Refuse
from joader.messages.nodes import Beat, Knock, Members, Node, Said, Say
from joader.wire import Mail, Stream

log = logging.getLogger("joader.cluster")

BEAT_S = 0.5
# Heartbeats of our own: after three seconds of silence a node counts as gone.
SILENT_S = 3.0
_MOST_BYTES = 1 << 22
# Lasting values, which outlive their senders: the greatest so far.
_MOST_LASTING = 10_000


class Leader:
    """Accepts members, and keeps what all of them must know."""

    def __init__(self, name: str) -> None:
        """Lead under the name of this node."""
        self._name = name
        self._version = 0
        self._nonce = 1 + secrets.randbits(62)
        self._seats: dict[str, _Seat] = {}
        self._lasting: dict[str, bytes] = {}
        self._ticking: asyncio.TimerHandle | None = None
        self._tick()

    def close(self) -> None:
        """Stop leading: close all connections."""
        if self._ticking is not None:
            self._ticking.cancel()
        for seat in list(self._seats.values()):
            seat.close()

    def admit(self, sock: socket.socket, knock: Knock) -> None:
        """Add a node; refuse it if another one has its name."""
        seat = _Seat(self, knock.node)
        task = asyncio.ensure_future(
            asyncio.get_running_loop().connect_accepted_socket(lambda: seat, sock)
        )
        seat.connecting = task

    def seated(self, seat: "_Seat") -> None:
        """Tell all members of a new one, and the new one of all members."""
        name = seat.node.name
        other = self._seats.get(name)
        if other is not None and other.node.life != seat.node.life and not other.silent():
            seat.send(
                Refuse(
                    f"a node named {name!r} is in the cluster already; set JOADER_NODE to a name "
                    "of its own on one of them"
                )
            )
            seat.close()
            return
        if other is not None:
            other.close()
        self._seats[name] = seat
        if self._lasting:
            seat.send(Said("", self._lasting))
        for node, known in self._seats.items():
            if known.values and known is not seat:
                seat.send(Said(node, known.values))
        self._changed(f"node {name} joins")

    def said(self, seat: "_Seat", values: dict[str, bytes]) -> None:
        """Pass on a node's values."""
        seat.values = {k: v for k, v in (seat.values | values).items() if v}
        for name in (name for name in values if name.startswith(LASTING)):
            self._lasting[name] = max(self._lasting.pop(name, b""), values[name])
            if len(self._lasting) > _MOST_LASTING:
                del self._lasting[next(iter(self._lasting))]
        for other in self._seats.values():
            if other is not seat:
                other.send(Said(seat.node.name, values))

    def gone(self, seat: "_Seat") -> None:
        """Remove a member, and tell the others."""
        if self._seats.get(seat.node.name) is seat:
            del self._seats[seat.node.name]
            self._changed(f"node {seat.node.name} is gone")

    def _changed(self, what: str) -> None:
        self._version += 1
        log.info("%s; %d in the cluster", what, len(self._seats), extra={"event": "members"})
        nodes = tuple(seat.node for seat in self._seats.values())
        for seat in self._seats.values():
            seat.send(Members(self._version, nodes, self._name, self._nonce))

    def _tick(self) -> None:
        self._ticking = asyncio.get_running_loop().call_later(BEAT_S, self._tick)
        for seat in list(self._seats.values()):
            if seat.silent():
                seat.close()
                self.gone(seat)
            else:
                seat.send(Beat())


class _Seat(asyncio.Protocol):
    """One member, as the leader sees it."""

    def __init__(self, leader: Leader, node: Node) -> None:
        self.node = node
        self.values: dict[str, bytes] = {}
        self.connecting: asyncio.Future[Any] | None = None  # kept from collection
        self._leader = leader
        self._heard = asyncio.get_running_loop().time()
        self._stream: Stream[Say | Beat] = Stream(Say | Beat, _MOST_BYTES)
        self._mail = Mail()
        self._transport: asyncio.Transport | None = None

    def silent(self) -> bool:
        return asyncio.get_running_loop().time() - self._heard > SILENT_S

    def send(self, message: msgspec.Struct) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._mail.send(self._transport, [message])

    def close(self) -> None:
        if self._transport is not None:
            self._mail.flush()
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._leader.seated(self)

    def data_received(self, data: bytes) -> None:
        self._heard = asyncio.get_running_loop().time()
        try:
            for message in self._stream.feed(data):
                if isinstance(message, Say):
                    self._leader.said(self, message.values)
        except BadMessage as error:
            log.warning("disconnecting node %s: %s", self.node.name, error)
            self.close()

    def connection_lost(self, error: Exception | None) -> None:
        self._leader.gone(self)
