"""A job's nursery as the daemon sees it: asked to bear workers, it says how they ended.

Its process is watched by a pidfd: when its job has gone, or nobody wants it any more, what is left
of it after a while is killed, also if it was stopped.
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
    """What a nursery's link needs of the pool."""

    def attended(self, link: "NurseryLink") -> None:
        """Take it in."""
        ...

    def nursery_ends(self, link: "NurseryLink") -> None:
        """Note that it ends its workers, and goes."""
        ...

    def nursery_gone(self, link: "NurseryLink") -> None:
        """Note that it has gone."""
        ...

    def unborn(self, ticket: str, reason: str) -> None:
        """Note that it cannot bear workers."""
        ...

    def ended_as(self, ticket: str, number: int, pid: int, code: int) -> None:
        """Note how a worker has ended."""
        ...


class NurseryLink(asyncio.Protocol):
    """The connection to a nursery, after the handshake."""

    def __init__(self, pool: Owner, ticket: str, pid: int) -> None:
        """Speak for a pool with this process; 0: it is of another pid namespace."""
        self.ticket, self.pid = ticket, pid
        self._pool = pool
        self._stream: Stream[Any] = Stream(FromNursery)
        self._mail = Mail()
        self._transport: asyncio.Transport | None = None
        self._pidfd = -1

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Be there."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        # Not before: who dies before it gets its welcome never has a connection to lose.
        with suppress(OSError):
            self._pidfd = os.pidfd_open(self.pid)
        self._pool.attended(self)

    def data_received(self, data: bytes) -> None:
        """Pass on what it says."""
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
        """Note that it has gone, or serves another daemon."""
        self._transport = None
        self._pool.nursery_gone(self)
        self._forget()

    def send(self, *messages: msgspec.Struct) -> None:
        """Send messages; to a nursery that is gone they are lost."""
        if self._transport is not None and not self._transport.is_closing():
            self._mail.send(self._transport, messages)

    def close(self) -> None:
        """Hang up: its workers end, and it waits for another daemon."""
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
