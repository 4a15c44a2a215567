"""One worker process as the daemon sees it: what it has in hand, what it is at, how it ended.

A worker leads a process group of its own, so that what user code has started in it goes with it,
and a Ctrl-C in the daemon's terminal is not for it. Its end is seen by its pidfd as well as by its
socket: a process that user code has forked may keep the one, and user code may close the other.
Owner of the process, its socket, pidfd and desk: this class.
Not here: who gets what (crew.py), what takes too long (watch.py).
"""

import asyncio
import logging
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Protocol

from joader.errors import BadMessage
from joader.memory import Arena
from joader.messages import (
    Cook,
    Cooked,
    CookedEach,
    Environment,
    Finish,
    FromWorker,
    HandBack,
    NotBegun,
    OwnBody,
    RecipeBody,
    Spoiled,
    TooBig,
)
from joader.wire import Mail, Stream
from joader.workers.desk import SIGNAL, Desk, Note

Order = Cook | Finish
Report = Cooked | TooBig | Spoiled

# What a worker process runs; tests of faults run the same loop with faults in it.
MODULE = "joader.workers.loop"
# One thread each: with a process a core, the threads of numeric libraries only fight for the cores.
_ONE_THREAD = ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "VECLIB")
# How long a worker has to say where its code is before it is killed.
_LAST_WORDS_S = 0.3

log = logging.getLogger("joader.daemon")


class Owner(Protocol):
    """What a worker's hand needs of its crew."""

    def feed(self) -> None:
        """Hand out what is queued."""
        ...

    def reported(self, hand: "Hand", message: Report) -> None:
        """Take a report."""
        ...

    def reported_each(self, hand: "Hand", message: CookedEach) -> None:
        """Take a report of several samples."""
        ...

    def handed_back(self, hand: "Hand", samples: tuple[int, ...]) -> None:
        """Take back what the worker has not begun."""
        ...

    def lost(self, hand: "Hand") -> None:
        """Take note that the process has ended."""
        ...

    def note_hand(self, sample: int, hand: "Hand | None") -> None:
        """Take note of who has a sample."""
        ...

    def note_hands(self, samples: list[int], hand: "Hand") -> None:
        """Take note of who has samples."""
        ...

    def note_pace(self, seconds: float, reports: int) -> None:
        """Take note of how long a worker took for so many reports."""
        ...


class Hand(asyncio.Protocol):
    """A worker process."""

    def __init__(
        self,
        crew: Owner,
        number: int,
        environment: Environment,
        arena: Arena,
        threads: int,
        workers: int,
    ) -> None:
        """Start the process, as one of so many workers of its crew."""
        self.crew = crew
        self.number = number
        self.knows: set[str | int] = set()  # recipes, and jobs with an own part
        self._unread: set[str | int] = set()  # to be forgotten when nothing in hand needs it
        self.busy: dict[int, Order] = {}
        self.since: dict[int, float] = {}
        self.alone = False  # it has a suspect in hand, and gets nothing beside it
        self.leaving = False  # it gets nothing more, and ends when it has nothing in hand
        self.replaced = False  # another works in its stead
        self.overdue: dict[int, str] = {}  # what it is killed for, and what to say of it
        self.done = 0  # reports
        self._since = 0.0  # when it reported last, or got something to do
        self.private_bytes_at_first: int | None = None
        self.transport: asyncio.Transport | None = None
        self.desk = Desk()
        self.started = time.monotonic()
        self._stream: Stream[FromWorker] = Stream(FromWorker)
        self._mail = Mail()
        ours, theirs = socket.socketpair()
        writable = arena.writable_descriptor()
        command = [environment.interpreter, "-m", MODULE]
        command += [f"--socket={theirs.fileno()}", f"--arena={writable}"]
        command += [f"--desk={self.desk.descriptor}", f"--arena-bytes={arena.size_bytes}"]
        command += [f"--threads={threads}", f"--number={number}", f"--workers={workers}"]
        variables = {f"{name}_NUM_THREADS": "1" for name in _ONE_THREAD}
        variables["PYTHONPATH"] = os.pathsep.join(environment.path)
        try:
            self.process = subprocess.Popen(
                command,
                pass_fds=(theirs.fileno(), writable, self.desk.descriptor),
                stdin=subprocess.DEVNULL,
                cwd=environment.folder,
                env={**os.environ, **variables},
                process_group=0,
            )
        except BaseException:
            ours.close()
            self.desk.close()
            raise
        finally:
            theirs.close()
            os.close(writable)
        loop = asyncio.get_running_loop()
        self._pidfd = os.pidfd_open(self.process.pid)
        loop.add_reader(self._pidfd, self._died)
        ours.setblocking(False)
        self._connecting = asyncio.ensure_future(loop.create_connection(lambda: self, sock=ours))

    # The connection.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to work."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.crew.feed()

    def data_received(self, data: bytes) -> None:
        """Pass on what the worker reports."""
        done = self.done
        try:
            for message in self._stream.feed(data):
                if isinstance(message, CookedEach):
                    self.done += len(message.samples)
                    self.crew.reported_each(self, message)
                    continue
                self.done += 1
                if isinstance(message, NotBegun):
                    self.crew.handed_back(self, message.samples)
                else:
                    self.crew.reported(self, message)
        except BadMessage as error:
            log.warning("worker %d is killed, for what it said: %s", self.process.pid, error)
            self.kill()
            return
        self._note_pace(self.done - done)
        self.crew.feed()

    def _note_pace(self, reports: int) -> None:
        if reports:
            now = time.monotonic()
            self.crew.note_pace(now - self._since, reports)
            self._since = now

    def connection_lost(self, error: Exception | None) -> None:
        """End with the connection."""
        self.crew.lost(self)

    def send(self, *messages: Any) -> None:
        """Send messages; to a worker that is gone they are lost."""
        if self.transport is not None:
            self._mail.send(self.transport, messages)

    # What it has in hand.

    def take(self, order: Order, body: bytes) -> None:
        """Hand out an order, with its code the first time."""
        name = code_of(order)
        if name not in self.knows:
            self.knows.add(name)
            self._teach(name, body)
        if self._unread:
            self._unread.discard(name)
        now = time.monotonic()
        if not self.busy:
            self._since = now
        self.busy[order.sample] = order
        self.crew.note_hand(order.sample, self)
        self.since[order.sample] = now
        self.send(order)

    def take_rows(self, orders: list[Cook], body: bytes) -> None:
        """Hand out rows of one recipe, as `take` does each of them."""
        self.take(orders[0], body)
        samples, since = [order.sample for order in orders], self.since[orders[0].sample]
        self.busy.update(zip(samples, orders, strict=True))
        self.since.update(dict.fromkeys(samples, since))
        self.crew.note_hands(samples, self)
        self.send(*orders[1:])

    def unlearn(self, name: str | int) -> None:
        """Let the worker forget code that nobody reads with: a dataset may be large.

        Not before it is done with what it has in hand: a job that comes meanwhile may wait for it.
        """
        if name in self.knows:
            self._unread.add(name)
            self._forget_unread()

    def _forget_unread(self) -> None:
        for name in self._unread.difference(map(code_of, self.busy.values())):
            self._unread.remove(name)
            self.knows.remove(name)
            self._teach(name, b"")

    def _teach(self, name: str | int, body: bytes) -> None:
        self.send(RecipeBody(name, body) if isinstance(name, str) else OwnBody(name, body))

    def drop(self, sample: int) -> Order | None:
        """Note that the worker has a sample no more."""
        self.since.pop(sample, None)
        self.crew.note_hand(sample, None)
        order = self.busy.pop(sample, None)
        if self._unread:
            self._forget_unread()
        return order

    def drop_each(self, samples: list[int]) -> None:
        """Note that the worker has these samples no more."""
        for sample in samples:
            del self.since[sample], self.busy[sample]
        if self._unread:
            self._forget_unread()

    def at_work(self) -> list[Note]:
        """Return what the process is at, of what it has in hand."""
        return [note for note in self.desk.notes() if note.sample in self.busy]

    def private_bytes(self) -> int:
        """Return the memory that the process has for itself, without the arena."""
        try:
            with open(f"/proc/{self.process.pid}/statm") as file:
                _, resident, shared, *_ = map(int, file.read().split())
        except (OSError, ValueError):  # it has just ended
            return 0
        return (resident - shared) * os.sysconf("SC_PAGE_SIZE")

    # The end.

    def leave_alone(self) -> None:
        """Leave it what it is at, and ask it for the rest: another works in its stead."""
        self.leaving = self.replaced = True
        self.send(HandBack())

    def give_up_on(self, overdue: Iterable[Note], reason: Callable[[Note, str], str]) -> None:
        """Kill the process for what it is at; `reason` is told where the code was."""
        notes = list(overdue)
        self.leaving = True
        self.overdue = {note.sample: reason(note, "") for note in notes}
        with suppress(ProcessLookupError):
            self.process.send_signal(SIGNAL)

        def end() -> None:
            if self._pidfd >= 0:
                trace = self.desk.trace()
                self.overdue = {note.sample: reason(note, trace) for note in notes}
                self.kill()

        asyncio.get_running_loop().call_later(_LAST_WORDS_S, end)

    def kill(self) -> None:
        """Kill the process and what it has started; `lost` follows."""
        if self.process.returncode is None:  # its number may be another's when it was waited for
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.kill()

    def bury(self) -> tuple[int, list[Note], str]:
        """Let go of all that was the process's: exit code, what it was at, where it was."""
        self.transport = None
        self.kill()
        code = self.process.wait()
        notes, trace = self.at_work(), self.desk.trace()
        self._close_pidfd()
        self.desk.close()
        return code, notes, trace

    def _died(self) -> None:
        """Close the connection, if nothing else does: its end is the hand's."""
        self._close_pidfd()
        if self.transport is not None:
            # Not at once: what it said last is still to be read.
            asyncio.get_running_loop().call_later(0.05, self.transport.abort)

    def _close_pidfd(self) -> None:
        if self._pidfd >= 0:
            asyncio.get_running_loop().remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = -1


def code_of(order: Order) -> str | int:
    """Return whose code an order runs: a recipe's, or a job's own."""
    return order.recipe if isinstance(order, Cook) else order.job
