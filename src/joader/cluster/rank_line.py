"""A connection between two nodes, one of which plans for jobs of the other.

It serves ranks of common jobs (daemon/ranks.py) and, as a separate connection, jobs that draw
jointly (daemon/joint.py). It runs in the daemon's loop, because messages are few and small: four
per step and rank. They arrive in order. A node that is silent for SILENT_S counts as gone; messages
under way are then lost.
"""

import asyncio
import logging
import socket
from collections.abc import Callable
from typing import Any

from joader.cluster.greeting import knock
from joader.cluster.leader import BEAT_S, SILENT_S
from joader.errors import BadMessage, JoaderError
from joader.messages.nodes import Beat, Node
from joader.messages.ranks import OnLine
from joader.wire import Mail, Stream

log = logging.getLogger("joader.cluster")

PURPOSE = "ranks"


class RankLine(asyncio.Protocol):
    """One end of a line; the other is at `node`."""

    def __init__(
        self,
        node: Node,
        on_message: Callable[["RankLine", Any], None],
        on_end: Callable[["RankLine", str], None],
        purpose: str = PURPOSE,
    ) -> None:
        """Start unconnected; use `connect` or `accept`."""
        self.node, self._purpose = node, purpose
        self.is_up = False
        self._on_message, self._on_end = on_message, on_end
        self._stream: Stream[OnLine] = Stream(OnLine)
        self._mail = Mail()
        self._transport: asyncio.Transport | None = None
        self._heard = 0.0
        self._beating: asyncio.TimerHandle | None = None
        self._ended = False

    async def connect(self, key: bytes, own: Node) -> None:
        """Connect to the other node; a failure is reported as an end of the line."""
        loop = asyncio.get_running_loop()
        address = (self.node.host, self.node.port)
        try:
            sock = await loop.run_in_executor(None, lambda: knock(address, key, own, self._purpose))
            await self._speak(sock)
        except (JoaderError, OSError) as error:
            self._end(str(error))

    async def accept(self, sock: socket.socket) -> None:
        """Take over a connection that another node has opened."""
        try:
            await self._speak(sock)
        except OSError as error:
            self._end(str(error))

    async def _speak(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        if self._ended:  # closed in the meantime
            sock.close()
            return
        await asyncio.get_running_loop().create_connection(lambda: self, sock=sock)

    def send(self, message: OnLine) -> None:
        """Send a message; it is lost if the line ends first."""
        if self._transport is not None and not self._transport.is_closing():
            self._mail.send(self._transport, [message])

    def close(self) -> None:
        """End the line after sending what is queued."""
        if self._transport is not None:
            self._mail.flush()
            self._transport.close()
        self._end("it was closed")

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send what is queued, and start heartbeats."""
        assert isinstance(transport, asyncio.Transport)
        self._transport, self.is_up = transport, True
        self._heard = asyncio.get_running_loop().time()
        self._beat()

    def data_received(self, data: bytes) -> None:
        """Take in messages of the other node."""
        self._heard = asyncio.get_running_loop().time()
        try:
            for message in self._stream.feed(data):
                if not isinstance(message, Beat):
                    self._on_message(self, message)
        except BadMessage as error:
            self._end(str(error))

    def connection_lost(self, error: Exception | None) -> None:
        """End the line with its connection."""
        self._end(str(error or "it closed the connection"))

    def _beat(self) -> None:
        loop = asyncio.get_running_loop()
        if loop.time() - self._heard > SILENT_S:
            self._end(f"nothing was heard of it for {SILENT_S:.0f} s")
            return
        self.send(Beat())
        self._beating = loop.call_later(BEAT_S, self._beat)

    def _end(self, reason: str) -> None:
        if self._ended:
            return
        self._ended, self.is_up = True, False
        if self._beating is not None:
            self._beating.cancel()
        if self._transport is not None and not self._transport.is_closing():
            self._transport.abort()
        self._stream.close()
        self._on_end(self, reason)
