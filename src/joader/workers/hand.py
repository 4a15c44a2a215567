"""One worker process as the daemon sees it: its socket, its desk, its end.

A worker is a child of its job's nursery, not of the daemon. It leads a process group of its own, so
that what user code has started in it goes with it. Its end is seen by its pidfd as well as by its
socket: a process that user code has forked may keep the one, and user code may close the other. How
it ended only the nursery can tell, so its word is waited for, a moment.
Owner of the worker's socket, pidfd and desk: this class.
Not here: what it has in hand, and who gets what (schedule/).
"""

import asyncio
import logging
import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Protocol

from joader.errors import BadMessage
from joader.messages import FromWorker
from joader.schedule.work.blame import Pulse
from joader.wire import Mail, Stream
from joader.workers.desk import SIGNAL, Desk

# How long a worker has to say where its code is before it is killed.
_LAST_WORDS_S = 0.3
# How long the nursery has to say how a worker ended.
_ENDED_S = 0.5

log = logging.getLogger("joader.daemon")


class Owner(Protocol):
    """What a worker's hand needs of the pool."""

    def arrived(self, hand: "Hand") -> None:
        """Take note that the process is ready."""
        ...

    def reported(self, hand: "Hand", messages: Sequence[FromWorker]) -> None:
        """Take reports."""
        ...

    def out_of_reach(self, hand: "Hand") -> None:
        """Take note that the connection has ended."""
        ...

    def ended(self, hand: "Hand") -> None:
        """Take note that the process has ended."""
        ...

    def slay(self, hand: "Hand") -> None:
        """Have the nursery kill a process that cannot be reached from here."""
        ...


# What a worker has said is taken out of here at once, so all have the same. Without it, asyncio
# makes room for 256 KiB at each read, which costs more than the read.
_buffer = memoryview(bytearray(1 << 16))


class Hand(asyncio.BufferedProtocol):
    """A worker process, from its handshake on."""

    def __init__(self, pool: Owner, ticket: str, number: int, pid: int, desk: Desk) -> None:
        """Serve a pool; `pid` is 0 if the process is of another pid namespace."""
        self.ticket, self.number, self.pid = ticket, number, pid
        self.id = -1  # what `schedule/` calls it
        self.desk = desk
        self.code: int | None = None  # how it ended, once the nursery has said so
        self._pool = pool
        self._transport: asyncio.Transport | None = None
        self._gone = self._buried = False
        self._stream: Stream[FromWorker] = Stream(FromWorker)
        self._mail = Mail()
        self._pidfd = -1

    # The connection.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to work."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        # Not before: who dies before it gets its welcome never has a connection to lose.
        with suppress(OSError):  # it is gone already, or of another pid namespace
            self._pidfd = os.pidfd_open(self.pid)
            asyncio.get_running_loop().add_reader(self._pidfd, self._died)
        self._pool.arrived(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Say where to put what the worker reports."""
        return _buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Pass on what the worker reports."""
        if self.id < 0:
            return  # its job has gone
        messages: list[FromWorker] = []
        try:
            try:
                messages.extend(self._stream.feed(_buffer[:nbytes]))
            finally:  # also what it said before it said something that cannot be read
                self._pool.reported(self, messages)
        except BadMessage as error:
            log.warning("worker %d is killed, for what it said: %s", self.pid, error)
            self.kill()

    def connection_lost(self, error: Exception | None) -> None:
        """End with the connection."""
        if self._gone:
            return
        self._transport = None
        self._pool.out_of_reach(self)
        self.kill()
        self._gone = True
        if self.code is not None:
            self._bury()
        else:
            asyncio.get_running_loop().call_later(_ENDED_S, self._bury)

    def send(self, *messages: Any) -> None:
        """Send messages; to a worker that is gone they are lost."""
        if self._transport is not None:
            self._mail.send(self._transport, messages)

    def private_bytes(self) -> int:
        """Return the memory that the process has for itself, without the arena."""
        try:
            with open(f"/proc/{self.pid}/statm") as file:
                _, resident, shared, *_ = map(int, file.read().split())
        except (OSError, ValueError):  # it has just ended
            return 0
        return (resident - shared) * os.sysconf("SC_PAGE_SIZE")

    def cpu_s(self) -> float:
        """Return the processor time that the process has had; 0 if it has just ended."""
        try:
            with open(f"/proc/{self.pid}/stat") as file:
                # The name before it may hold anything.
                fields = file.read().rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        except (OSError, ValueError, IndexError):
            return 0.0

    def pulse(self) -> Pulse | None:
        """Return what the process has had of processors, and whether a thread waits for one."""
        folder = f"/proc/{self.pid}/task"
        ticks, runnable = 0, False
        try:
            for thread in os.listdir(folder):
                with open(f"{folder}/{thread}/stat") as file:
                    # The name before it may hold anything.
                    state, *fields = file.read().rpartition(")")[2].split()
                runnable |= state == "R"
                ticks += int(fields[10]) + int(fields[11])  # utime, stime
        except (OSError, ValueError, IndexError):  # it has just ended, or is of another namespace
            return None
        return Pulse(ticks / os.sysconf("SC_CLK_TCK"), runnable)

    # The end.

    def kill_after_last_words(self) -> None:
        """Let the process write down where its code is, and kill it."""
        self._signal(SIGNAL)
        asyncio.get_running_loop().call_later(_LAST_WORDS_S, self.kill)

    def kill(self) -> None:
        """Kill the process and what it has started; `ended` follows."""
        if self._pidfd < 0:
            if not self._gone:
                self._pool.slay(self)
            return
        # As long as its pidfd says that the process lives, its number is its own. What it has
        # started is killed by the nursery, too, before the number is free for another.
        if self._signal(0):
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
            self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> bool:
        """Send a signal; tell whether the process was there to get it."""
        if self._pidfd < 0:
            return False
        try:
            signal.pidfd_send_signal(self._pidfd, number)
        except (ProcessLookupError, PermissionError):
            return False
        return True

    def ended(self, code: int) -> None:
        """Note what the nursery says: how the process ended."""
        self.code = code
        if self._gone:
            self._bury()

    def _died(self) -> None:
        """Close the connection, if nothing else does: its end is the hand's."""
        asyncio.get_running_loop().remove_reader(self._pidfd)
        if self._transport is not None:
            # Not at once: what it said last is still to be read.
            asyncio.get_running_loop().call_later(0.05, self._transport.abort)

    def _bury(self) -> None:
        if self._buried:
            return
        self._buried = True
        self._pool.ended(self)
        if self._pidfd >= 0:
            asyncio.get_running_loop().remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = -1
        self.desk.close()
