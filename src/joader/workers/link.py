"""The daemon's connection to a job's nursery, which starts workers and reports how they ended.

It holds a pidfd of the nursery's process, so that a nursery that was stopped, and cannot see that
its job is gone, can still be killed.
"""

import asyncio
import os
import signal
from contextlib import suppress
from typing import Any, Protocol

import msgspec

from joader.errors import BadMessage
from joader.messages import Ended, FromNursery, Stop, Unborn
from joader.wire import Mail, Stream


class Owner(Protocol):
    """What a nursery's link needs from the pool."""

    def attended(self, link: "NurseryLink") -> None:
        """Take note that the nursery is connected."""
        ...

    def nursery_ends(self, link: "NurseryLink") -> None:
        """Take note that it ends its workers and leaves."""
        ...

    def nursery_gone(self, link: "NurseryLink") -> None:
        """Take note that the connection has ended."""
        ...

    def unborn(self, ticket: str, reason: str) -> None:
        """Take note that it cannot start a worker."""
        ...

    def ended_as(self, ticket: str, number: int, pid: int, code: int) -> None:
        """Take note of a worker's exit code."""
        ...


class NurseryLink(asyncio.Protocol):
    """The connection to a nursery, after the handshake."""

    def __init__(self, pool: Owner, ticket: str, pid: int) -> None:
        """Report to `pool`; `pid` is 0 if the process is in another pid namespace."""
        self.ticket, self.pid = ticket, pid
        self._pool = pool
        self._stream: Stream[Any] = Stream(FromNursery)
        self._mail = Mail()
        self._transport: asyncio.Transport | None = None
        self._pidfd = -1

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Watch the process, and tell the pool that it is connected."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        # Only now: a process that dies before its Welcome has no connection to lose.
        with suppress(OSError):
            self._pidfd = os.pidfd_open(self.pid)
        self._pool.attended(self)

    def data_received(self, data: bytes) -> None:
        """Decode its messages and pass them to the pool."""
        try:
            for message in self._stream.feed(data):
                if isinstance(message, Ended):
                    self._pool.ended_as(self.ticket, message.number, message.pid, message.code)
                elif isinstance(message, Unborn):
                    self._pool.unborn(self.ticket, message.reason)
                elif isinstance(message, Stop):
                    self._pool.nursery_ends(self)
        except BadMessage:
            self.close()

    def connection_lost(self, error: Exception | None) -> None:
        """Tell the pool that the nursery has ended, or serves another daemon."""
        self._transport = None
        self._pool.nursery_gone(self)
        self._forget()

    def send(self, *messages: msgspec.Struct) -> None:
        """Send messages; they are lost if the nursery is gone."""
        if self._transport is not None and not self._transport.is_closing():
            self._mail.send(self._transport, messages)

    def close(self) -> None:
        """Close the connection: its workers end, and it waits for another daemon."""
        if self._transport is not None:
            self._mail.flush()
            self._transport.close()

    def kill(self) -> None:
        """Kill the process, if it is still there."""
        if self._pidfd >= 0:
            with suppress(ProcessLookupError, PermissionError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
        self.close()

    def _forget(self) -> None:
        if self._pidfd >= 0:
            os.close(self._pidfd)
            self._pidfd = -1
