"""A cluster by one address that all nodes know: the node that can listen there leads.

The address belongs to one machine. A daemon there binds the port and leads; all nodes, including
itself, connect to it as members. If the leader is gone, they look for it again every AGAIN_S; until
then they continue with the members they know, and reach each other without it. The next daemon on
that machine to look takes over.
"""

import asyncio
import ipaddress
import logging
from collections.abc import Mapping

from msgspec import structs

from joader.cluster.contract import Observer
from joader.cluster.greeting import knock
from joader.cluster.leader import BEAT_S, SILENT_S, Leader
from joader.cluster.leader_address import Address
from joader.cluster.listener import Listener, listening
from joader.errors import BadMessage, JoaderError, NoDaemon, Refusal
from joader.messages import Refuse
from joader.messages.nodes import Beat, Members, Node, Said, Say
from joader.wire import Mail, Stream

log = logging.getLogger("joader.cluster")

AGAIN_S = 1.0
# The leader may start a little later than this node.
FIRST_S = 6.0
_MOST_BYTES = 1 << 22


class ByAddress:
    """The company of all nodes that know one address."""

    def __init__(
        self,
        address: Address,
        key: bytes,
        node: Node,
        observer: Observer,
        may_lead: bool = True,
    ) -> None:
        """Prepare to be this node; nothing happens before `join`.

        `may_lead` is False if something else provides the leader.
        """
        self._may_lead = may_lead
        self._named, self._address = address, address.resolved()
        self._key, self._node, self._observer = key, node, observer
        self._leader: Leader | None = None
        self._listener: Listener | None = None
        self._desk: _Desk | None = None
        self._values: dict[str, bytes] = {}
        self._task: asyncio.Task[None] | None = None
        self._ended = False

    @property
    def leads(self) -> bool:
        """Whether this node leads."""
        return self._leader is not None

    @property
    def reached(self) -> bool:
        """Whether this node is connected to the leader now."""
        return self._desk is not None and self._desk.is_open

    async def join(self) -> None:
        """Join now, or raise; from then on, join again whenever the leader is lost."""
        loop = asyncio.get_running_loop()
        until = loop.time() + FIRST_S
        while True:
            try:
                await self._meet()
                break
            except (NoDaemon, OSError) as error:
                if loop.time() > until:
                    raise NoDaemon(
                        f"no joader daemon leads a cluster at {self._named}: {error}; start one "
                        f"there with the same --cluster={self._named}, or correct the address"
                    ) from error
            await asyncio.sleep(0.25)
        self._task = asyncio.ensure_future(self._keep())

    def move(self, address: Address) -> None:
        """Look for the leader at another address from now on."""
        if address != self._named:
            self._named, self._address = address, address.resolved()
            if self._desk is not None:
                self._desk.close()

    def say(self, values: Mapping[str, bytes]) -> None:
        """Send all other nodes these values, now and after each reconnection."""
        changed = {k: v for k, v in values.items() if self._values.get(k, b"") != v}
        if changed:
            self._values = {k: v for k, v in (self._values | changed).items() if v}
            if self._desk is not None:
                self._desk.send(Say(changed))

    async def leave(self) -> None:
        """Leave, so that others know at once."""
        self._ended = True
        if self._task is not None:
            self._task.cancel()
        if self._desk is not None:
            self._desk.close()
        await asyncio.sleep(0)  # what was sent last goes out
        if self._listener is not None:
            self._listener.close()
        if self._leader is not None:
            self._leader.close()

    async def _keep(self) -> None:
        """Reconnect to the leader whenever it is lost."""
        while not self._ended:
            assert self._desk is not None
            reason = await self._desk.lost
            if self._ended:
                return
            log.warning(
                "the leader at %s is lost (%s): this node continues with those it knows, and looks "
                "for it every second",
                *(self._named, reason),
                extra={"event": "leader_lost"},
            )
            await self._meet_again()
            log.info("the leader at %s is found again", self._named, extra={"event": "leader_met"})

    async def _meet_again(self) -> None:
        while True:
            await asyncio.sleep(AGAIN_S)
            try:
                return await self._meet()
            except (JoaderError, OSError) as error:
                log.debug("the leader is not found yet: %s", error)

    async def _meet(self) -> None:
        if self._may_lead and self._leader is None:
            self._try_to_lead()
        loop = asyncio.get_running_loop()
        address = (self._address.host, self._address.port)
        desk = _Desk(self._observer, self._address.host)
        sock = await loop.run_in_executor(
            None, lambda: knock(address, self._key, self._node, "member")
        )
        sock.setblocking(False)
        await loop.create_connection(lambda: desk, sock=sock)
        await desk.told()  # refused, or among the members
        self._desk = desk
        if self._values:
            desk.send(Say(self._values))

    def _try_to_lead(self) -> None:
        """Lead if the address belongs to this machine and no daemon listens there."""
        host = self._address.host
        if _is_loopback(host) and not _is_loopback(self._named.host):
            # Some systems resolve their own name to a loopback address, while others use the real
            # one. Only the machine itself resolves it this way, so it is the one that leads.
            host = ""
        try:
            sock = listening(host or "0.0.0.0", self._address.port)
        except OSError:
            return  # not ours, or another daemon leads there
        self._leader = Leader(self._node.name)
        self._listener = Listener(sock, self._key, self._leader.admit)
        log.info("node %s leads at %s", self._node.name, self._named, extra={"event": "leads"})


class _Desk(asyncio.Protocol):
    """A member's connection to its leader."""

    def __init__(self, observer: Observer, leader_host: str) -> None:
        loop = asyncio.get_running_loop()
        self.lost: asyncio.Future[str] = loop.create_future()
        self._told: asyncio.Future[None] = loop.create_future()
        self._observer, self._leader_host = observer, leader_host
        self._stream: Stream[Members | Said | Beat | Refuse] = Stream(
            Members | Said | Beat | Refuse, _MOST_BYTES
        )
        self._mail = Mail()
        self._transport: asyncio.Transport | None = None
        self._heard = loop.time()
        self._beating: asyncio.TimerHandle | None = None

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self.lost.done()

    async def told(self) -> None:
        try:
            await asyncio.wait_for(asyncio.shield(self._told), SILENT_S)
        except TimeoutError:
            self.close()
            raise NoDaemon("the leader is silent") from None

    def send(self, message: Say | Beat) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._mail.send(self._transport, [message])

    def close(self) -> None:
        if self._transport is not None:
            self._mail.flush()
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._beat()

    def data_received(self, data: bytes) -> None:
        self._heard = asyncio.get_running_loop().time()
        try:
            for message in self._stream.feed(data):
                self._take(message)
        except BadMessage as error:
            self._end(str(error))

    def connection_lost(self, error: Exception | None) -> None:
        self._end(str(error or "it closed the connection"))

    def _take(self, message: Members | Said | Beat | Refuse) -> None:
        match message:
            case Members():
                if not self._told.done():
                    self._told.set_result(None)
                nodes = tuple(map(self._reachable, message.nodes))
                self._observer.members_changed(structs.replace(message, nodes=nodes))
            case Said():
                self._observer.said(message.node, message.values)
            case Refuse():
                if not self._told.done():
                    self._told.set_exception(Refusal(message.reason))
                self._end(message.reason)

    def _reachable(self, node: Node) -> Node:
        """Return a node with its address from here: a leader may know only its own loopback."""
        if _is_loopback(node.host) and not _is_loopback(self._leader_host):
            return structs.replace(node, host=self._leader_host)
        return node

    def _beat(self) -> None:
        loop = asyncio.get_running_loop()
        if loop.time() - self._heard > SILENT_S:
            self._end(f"it was silent for {SILENT_S:.0f} s")
            return
        self.send(Beat())
        self._beating = loop.call_later(BEAT_S, self._beat)

    def _end(self, reason: str) -> None:
        if self._beating is not None:
            self._beating.cancel()
        if self._transport is not None:
            self._transport.abort()
        if not self.lost.done():
            self.lost.set_result(reason)
        if not self._told.done():
            self._told.set_exception(NoDaemon(f"the leader is lost again: {reason}"))
            self._told.exception()  # retrieved, because no task may be waiting for it


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
