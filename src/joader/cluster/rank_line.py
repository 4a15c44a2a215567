"""A connection between two nodes, for what one of them plans for jobs of the other, both ways.

For ranks of common jobs (daemon/ranks.py), and, as a connection of its own, for jobs that draw
jointly (daemon/joint.py). It lives in the daemon's loop: messages are few and small, four a step
and rank. They come in order. Whoever is silent for SILENT_S counts as gone, whatever the reason;
what was on its way then is lost.
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
    """One end of it; the other is at `node`."""

    def __init__(
        self,
        node: Node,
        on_message: Callable[["RankLine", Any], None],
        on_end: Callable[["RankLine", str], None],
        purpose: str = PURPOSE,
    ) -> None:
        """Be no connection yet."""
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
        """Connect to the other node; that it could not be reached is told as an end."""
        loop = asyncio.get_running_loop()
        address = (self.node.host, self.node.port)
        try:
            sock = await loop.run_in_executor(None, lambda: knock(address, key, own, self._purpose))
            await self._speak(sock)
        except (JoaderError, OSError) as error:
            self._end(str(error))

    async def accept(self, sock: socket.socket) -> None:
        """Speak with a node that has come."""
        try:
            await self._speak(sock)
        except OSError as error:
            self._end(str(error))

    async def _speak(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        if self._ended:  # closed meanwhile
            sock.close()
            return
        await asyncio.get_running_loop().create_connection(lambda: self, sock=sock)

    def send(self, message: OnLine) -> None:
        """Send a message; what the other side does not get anymore is lost."""
        if self._transport is not None and not self._transport.is_closing():
            self._mail.send(self._transport, [message])

    def close(self) -> None:
        """End it; what was sent goes out first."""
        if self._transport is not None:
            self._mail.flush()
            self._transport.close()
        self._end("it was closed")

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to speak."""
        assert isinstance(transport, asyncio.Transport)
        self._transport, self.is_up = transport, True
        self._heard = asyncio.get_running_loop().time()
        self._beat()

    def data_received(self, data: bytes) -> None:
        """Take in what the other node says."""
        self._heard = asyncio.get_running_loop().time()
        try:
            for message in self._stream.feed(data):
                if not isinstance(message, Beat):
                    self._on_message(self, message)
        except BadMessage as error:
            self._end(str(error))

    def connection_lost(self, error: Exception | None) -> None:
        """End with the connection."""
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
