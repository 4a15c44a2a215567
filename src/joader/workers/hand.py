"""The daemon's handle of one worker process: its socket, its status page and its end.

A worker is a child of its job's nursery, not of the daemon. It leads its own process group, so
everything that user code starts in it is killed with it. Both its pidfd and its socket are watched:
a process that user code forks may keep the socket open, and user code may close it. Only the
nursery knows the exit code, so the handle waits up to _ENDED_S for it. This class owns the worker's
socket, pidfd and status page. Not here: which rows the worker has, and how work is divided
(schedule/).
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

# How long a worker has to write its stack trace before it is killed.
_LAST_WORDS_S = 0.3
# How long the nursery has to report a worker's exit code.
_ENDED_S = 0.5

log = logging.getLogger("joader.daemon")


class Owner(Protocol):
    """What the handle of a worker needs from the pool."""

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


# All workers share this buffer because it is emptied right after each read. Without it, asyncio
# allocates 256 KiB per read, which costs more than the read itself.
_buffer = memoryview(bytearray(1 << 16))


class Hand(asyncio.BufferedProtocol):
    """One worker process, from its handshake until its exit code is known."""

    def __init__(self, pool: Owner, ticket: str, number: int, pid: int, desk: Desk) -> None:
        """Report to `pool`; `pid` is 0 if the process is in another pid namespace."""
        self.ticket, self.number, self.pid = ticket, number, pid
        self.id = -1  # its number in `schedule/`; -1 until the pool has taken it in
        self.desk = desk
        self.code: int | None = None  # its exit code, once the nursery has reported it
        self._pool = pool
        self._transport: asyncio.Transport | None = None
        self._gone = self._buried = False
        self._stream: Stream[FromWorker] = Stream(FromWorker)
        self._mail = Mail()
        self._pidfd = -1

    # The connection.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Watch the process, and tell the pool that it is ready."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        # Only now: a process that dies before its Welcome has no connection to lose.
        with suppress(OSError):  # it has ended, or is in another pid namespace
            self._pidfd = os.pidfd_open(self.pid)
            asyncio.get_running_loop().add_reader(self._pidfd, self._died)
        self._pool.arrived(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return the buffer that reports are read into."""
        return _buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Decode the worker's reports and pass them to the pool."""
        if self.id < 0:
            return  # its job has gone
        messages: list[FromWorker] = []
        try:
            try:
                messages.extend(self._stream.feed(_buffer[:nbytes]))
            finally:  # messages before the one that cannot be decoded still count
                self._pool.reported(self, messages)
        except BadMessage as error:
            log.warning("killing worker %d: it sent an invalid message: %s", self.pid, error)
            self.kill()

    def connection_lost(self, error: Exception | None) -> None:
        """Kill the process; a worker never outlives its connection."""
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
        """Send messages; they are lost if the worker is gone."""
        if self._transport is not None:
            self._mail.send(self._transport, messages)

    def private_bytes(self) -> int:
        """Return the size of the process's private memory, without the arena."""
        try:
            with open(f"/proc/{self.pid}/statm") as file:
                _, resident, shared, *_ = map(int, file.read().split())
        except (OSError, ValueError):  # it has just ended
            return 0
        return (resident - shared) * os.sysconf("SC_PAGE_SIZE")

    def cpu_s(self) -> float:
        """Return the CPU time of the process; 0 if it has just ended."""
        try:
            with open(f"/proc/{self.pid}/stat") as file:
                # The name before it may contain anything, parentheses included.
                fields = file.read().rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        except (OSError, ValueError, IndexError):
            return 0.0

    def pulse(self) -> Pulse | None:
        """Return the CPU time of all threads, and whether one of them is runnable."""
        folder = f"/proc/{self.pid}/task"
        ticks, runnable = 0, False
        try:
            for thread in os.listdir(folder):
                with open(f"{folder}/{thread}/stat") as file:
                    # The name before it may contain anything, parentheses included.
                    state, *fields = file.read().rpartition(")")[2].split()
                runnable |= state == "R"
                ticks += int(fields[10]) + int(fields[11])  # utime, stime
        except (OSError, ValueError, IndexError):  # it has just ended, or is in another namespace
            return None
        return Pulse(ticks / os.sysconf("SC_CLK_TCK"), runnable)

    # The end.

    def kill_after_last_words(self) -> None:
        """Have the process write its stack trace, then kill it."""
        self._signal(SIGNAL)
        asyncio.get_running_loop().call_later(_LAST_WORDS_S, self.kill)

    def kill(self) -> None:
        """Kill the process and all it has started; the pool's `ended` follows."""
        if self._pidfd < 0:
            if not self._gone:
                self._pool.slay(self)
            return
        # While the pidfd shows that the process lives, its pid cannot have been reused. The nursery
        # kills the process group, too, before it reaps the pid.
        if self._signal(0):
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
            self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> bool:
        """Send a signal; return whether the process was alive to get it."""
        if self._pidfd < 0:
            return False
        try:
            signal.pidfd_send_signal(self._pidfd, number)
        except (ProcessLookupError, PermissionError):
            return False
        return True

    def ended(self, code: int) -> None:
        """Take the exit code that the nursery reports."""
        self.code = code
        if self._gone:
            self._bury()

    def _died(self) -> None:
        """Close the connection if nothing else does; `connection_lost` then cleans up."""
        asyncio.get_running_loop().remove_reader(self._pidfd)
        if self._transport is not None:
            # Not at once: its last messages may still be unread.
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
