"""A client's connection to the daemon: handshake, arena, messages in order.

One connection serves one job, one pass after the other. It belongs to the process that opened it: a
forked child must open its own (`usable_here`).
"""

import os
import socket
import sys
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from joader.client.farewell import tally
from joader.client.order.progress import NOBODY, DrawnBy
from joader.client.reading.births import Nursery, descriptors_to_close
from joader.config import socket_path
from joader.daemon.lifecycle import connect_or_start, connected
from joader.errors import BadMessage, ConnectionLost, NoDaemon, OurError, Refusal
from joader.memory import Arena, Layout
from joader.messages import (
    PROTOCOL,
    Announce,
    Deliver,
    Differs,
    Hello,
    Named,
    Refuse,
    Register,
    Registered,
    ToClient,
)
from joader.wire import Channel, welcomed

T = TypeVar("T", bound=msgspec.Struct)
HANDSHAKE_S = 30.0


class Connection:
    """A channel to the daemon and the memory it shares."""

    def __init__(
        self, address: str | None = None, *, start: bool = True, answer_s: float = HANDSHAKE_S
    ) -> None:
        """Connect, starting a daemon if there is none and `start` says so."""
        path, sock = _found(address, start)
        self._answer_s = answer_s
        sock.settimeout(answer_s)
        self._pid = os.getpid()
        try:
            welcome, (descriptor,) = welcomed(sock, Hello(PROTOCOL, self._pid), 1)
        except BaseException as error:
            sock.close()
            if isinstance(error, TimeoutError):
                raise NoDaemon(
                    f"the daemon at {path} has not answered in {answer_s:.0f} s"
                ) from error
            if isinstance(error, OSError):
                raise ConnectionLost(f"the daemon at {path} went away: {error}") from error
            if isinstance(error, BadMessage):
                raise NoDaemon(
                    f"what listens at {path} is not a daemon we know: {error}"
                ) from error
            raise
        self.path = path
        self.daemon_pid = welcome.pid
        self.nursery: Nursery | None = None  # what the job brings; here, so that it lives as long
        try:
            # Children of the job do not keep the memory: they have connections of their own.
            self._arena = Arena.attach(descriptor, welcome.arena_bytes, forks=False)
        finally:
            os.close(descriptor)
        self._channel: Channel[Any] = Channel(sock, ToClient)
        self._batches: deque[Deliver | Announce | Differs] = deque()
        self._layouts: dict[int, Layout] = {}
        # To be raised. Not an exception: its traceback would hold this connection in a ring.
        self._refusal: str | None = None
        self.closed = False
        self.lost = False  # the daemon is gone
        self.passes = 0  # begun on this connection
        self.draws_as = NOBODY  # the daemon that the job registered with, and for whom
        self.batch_size = 0  # the largest batch it may ask for
        descriptors_to_close.add(self)

    def descriptors(self) -> list[int]:
        """Return what no child of this process may keep."""
        return [] if self.closed or self.lost else [self._channel.socket.fileno()]

    @property
    def usable_here(self) -> bool:
        """Whether it was opened by this process and was not closed."""
        return not self.closed and self._pid == os.getpid()

    @property
    def memory(self) -> NDArray[np.uint8]:
        """The arena, read-only."""
        return self._arena.view

    @property
    def ended(self) -> bool:
        """Whether the daemon has ended the job: what was just copied may be another's by now.

        It says so before anybody writes to slots that were the job's.
        """
        if self.closed or self.lost:
            return True
        try:
            ahead = self._channel.look_ahead()
        except ConnectionLost:
            return True
        return self._refusal is not None or any(isinstance(m, Refuse) for m in ahead)

    @property
    def bereft(self) -> bool:
        """Whether the nursery that the job brought has been killed."""
        return self.nursery is not None and not self.nursery.alive

    def serve_with(self, nursery: Nursery | None) -> None:
        """Have a nursery serve the daemon, and watch it from now on; the job is registered."""
        self.nursery = nursery
        if nursery is not None:
            nursery.attend(str(self.path), self.daemon_pid)

    def register(self, spec: Register) -> int:
        """Make the job known and return its number; `draws_as` says then who draws."""
        self.batch_size = spec.join.batch_size
        try:
            self._channel.send(spec)
            answer = self._wait((Registered,), self._answer_s)
        except TimeoutError as error:
            self.close()
            raise NoDaemon(
                f"the daemon (process {self.daemon_pid}) has not answered in {self._answer_s:.0f} s"
            ) from error
        assert isinstance(answer, Registered)
        self.draws_as = DrawnBy(answer.life, spec.join.reads_for)
        tally.call(answer.job, answer.label)
        return answer.job

    def send(self, *messages: msgspec.Struct) -> None:
        """Send messages; if the daemon has hung up and said why, that is raised by the next wait.

        What was to be yielded meanwhile is whole.
        """
        try:
            self._channel.send(*messages)
        except ConnectionLost:
            self._refusal = self._refusal or self._last_words()
            if self._refusal is None:
                raise

    def batch(self, timeout_s: float) -> Deliver | Announce | Differs:
        """Return the next batch or news of the pass; TimeoutError if nothing comes in time."""
        if self._batches:
            return self._batches.popleft()
        answer = self._wait((Deliver, Announce, Differs), timeout_s)
        assert isinstance(answer, Deliver | Announce | Differs)
        return answer

    def ask(self, question: msgspec.Struct, kind: type[T], timeout_s: float) -> T:
        """Ask something and return the answer; batches that come before it are kept."""
        self._channel.send(question)
        while True:
            answer = self._wait((Deliver, Announce, Differs, kind), timeout_s)
            if isinstance(answer, kind):
                return answer
            assert isinstance(answer, Deliver | Announce | Differs)
            self._batches.append(answer)

    def layouts(self, batch: Deliver) -> list[Layout]:
        """Return how each sample of a batch lies in its slot."""
        # In this order: the batch may bring anew what it has us forget.
        if batch.forget_layouts:
            self._layouts.clear()
        for number, data in batch.new_layouts.items():
            self._layouts[number] = Layout.from_bytes(data)
        return [self._layouts[number] for number in batch.layouts]

    def close(self) -> None:
        """Close; the daemon frees what the job held."""
        if not self.closed:
            self.closed = True
            self.hang_up()

    def __del__(self, _ends: Callable[[], bool] = sys.is_finalizing) -> None:
        """Close with the loader: the job ends when nobody can iterate any more."""
        if hasattr(self, "closed"):
            if _ends():  # nothing else is sure to be there any more
                self._channel.leave_open()
            else:
                self.close()

    def hang_up(self) -> None:
        """Let go of a daemon that is gone; the pass that had it goes on with another."""
        if self._pid == os.getpid():
            # A child that is just being forked has a copy of the socket: closing would not end it.
            with suppress(OSError):
                self._channel.socket.shutdown(socket.SHUT_RDWR)
        self._channel.close()
        self._arena.close()
        self.nursery = None

    def _last_words(self) -> str | None:
        """Return why a daemon that is not there any more has hung up, if it said so."""
        with suppress(TimeoutError, ConnectionLost):
            while True:
                message = self._channel.receive(0.0)
                if isinstance(message, Refuse):
                    return message.reason
        return None

    def _wait(self, kinds: tuple[type, ...], timeout_s: float) -> Any:
        if self._refusal is not None:
            self.close()
            raise Refusal(self._refusal)
        watched = self.nursery.pidfd if self.nursery is not None else None
        while isinstance(message := self._channel.receive(timeout_s, watched), Named):
            tally.call(message.job, message.label)
        if isinstance(message, Refuse):
            self.close()
            raise Refusal(message.reason)
        if not isinstance(message, kinds):
            raise OurError(f"the daemon answered {type(message).__name__}; please report this")
        return message


def _found(address: str | None, start: bool) -> tuple[Path, socket.socket]:
    """Return where the daemon listens, and a socket to it."""
    try:
        path = Path(address) if address else socket_path()
        sock = connect_or_start(path) if start else connected(path)
    except NoDaemon:
        raise
    except OSError as error:  # such as no process for it
        raise NoDaemon(f"cannot reach or start a daemon: {error}") from error
    if sock is None:
        raise NoDaemon(
            f"no daemon listens at {path}; `joader up -d` starts one, and so does the first job"
        )
    return path, sock
