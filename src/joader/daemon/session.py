"""One client as the daemon sees it: a connection, a process that is watched, at most one job.

A session ends when its socket closes or its process dies (pidfd), whichever is first: a forked
child of a job may keep the socket open long after the job is gone.
"""

import asyncio
import os
from collections.abc import Callable
from typing import Any

import msgspec

from joader.errors import BadMessage
from joader.messages import FromClient, Refused, Register
from joader.wire import Mail, Stream


class Session(asyncio.Protocol):
    """A client's connection after the handshake."""

    def __init__(
        self,
        pid: int,
        on_message: Callable[["Session", Any], None],
        on_end: Callable[["Session"], None],
    ) -> None:
        """Hand messages and the end of the session to these."""
        self.pid = pid
        self.job: int | None = None
        self.waiting_for_body: Register | None = None
        self.name = self.recipe = ""
        self.rank, self.world_size = 0, 1
        self.timeout_s = 0.0  # how long it waits for a batch
        self.epoch = 0
        self.number = 0  # of its pass
        self.key = 0  # where the pass's random numbers start
        self.owed = 0  # batches it asked for and has not got
        self.delivered = 0
        self.known_layouts: set[int] = set()
        self._on_message = on_message
        self._on_end = on_end
        self._stream: Stream[FromClient] = Stream(FromClient)
        self._transport: asyncio.Transport | None = None
        self._mail = Mail()
        self._pidfd = -1
        self._ended = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start to watch the client's process."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        try:
            self._pidfd = os.pidfd_open(self.pid)
        except OSError:  # it is gone already; its socket will tell
            return
        asyncio.get_running_loop().add_reader(self._pidfd, self.end)

    def data_received(self, data: bytes) -> None:
        """Pass on what the client says."""
        try:
            for message in self._stream.feed(data):
                self._on_message(self, message)
        except BadMessage as error:
            self.refuse(str(error))

    def connection_lost(self, error: Exception | None) -> None:
        """End with the connection."""
        self.end()

    def send(self, *messages: msgspec.Struct) -> None:
        """Send messages; to a client that is gone they are lost."""
        if self._transport is not None and not self._transport.is_closing():
            self._mail.send(self._transport, messages)

    def refuse(self, reason: str) -> None:
        """Say why the client cannot be served, and end."""
        self.send(Refused(reason))
        self.end()

    def end(self) -> None:
        """Close the connection and let go of all the job held, once."""
        if self._ended:
            return
        self._ended = True
        if self._pidfd >= 0:
            asyncio.get_running_loop().remove_reader(self._pidfd)
            os.close(self._pidfd)
        if self._transport is not None:
            self._mail.flush()
            self._transport.close()
        self._on_end(self)
