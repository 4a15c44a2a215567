"""One worker process as the daemon sees it: what it has in hand, what it works on, how it ended.

A worker is a child of its job's nursery, not of the daemon. It leads a process group of its own, so
that what user code has started in it goes with it. Its end is seen by its pidfd as well as by its
socket: a process that user code has forked may keep the one, and user code may close the other. How
it ended only the nursery can tell, so its word is waited for, a moment.
Owner of the worker's socket, pidfd and desk: this class.
Not here: who gets what (crew.py), what takes too long (watch.py).
"""

import asyncio
import logging
import os
import signal
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Protocol

from joader.errors import BadMessage
from joader.messages import (
    Check,
    Checked,
    Cook,
    Cooked,
    CookedEach,
    Finish,
    FromWorker,
    HandBack,
    NotBegun,
    Spoiled,
    TooBig,
)
from joader.wire import Mail, Stream
from joader.workers.desk import SIGNAL, Desk, Note

Order = Cook | Finish | Check
Report = Cooked | TooBig | Spoiled

# How long a worker has to say where its code is before it is killed.
_LAST_WORDS_S = 0.3
# How long the nursery has to say how a worker ended.
_ENDED_S = 0.5

log = logging.getLogger("joader.daemon")


class Owner(Protocol):
    """What a worker's hand needs of its crew."""

    def arrived(self, hand: "Hand") -> None:
        """Take note that the process is ready."""
        ...

    def reported(self, hand: "Hand", message: Report) -> None:
        """Take a report."""
        ...

    def reported_each(self, hand: "Hand", message: CookedEach) -> None:
        """Take a report of several samples."""
        ...

    def checked(self, hand: "Hand", message: Checked) -> None:
        """Take the outcome of a comparison."""
        ...

    def handed_back(self, hand: "Hand", samples: tuple[int, ...]) -> None:
        """Take back what the worker has not begun."""
        ...

    def lost(self, hand: "Hand") -> None:
        """Take note that the process has ended."""
        ...

    def slay(self, hand: "Hand") -> None:
        """Have the nursery kill a process that cannot be reached from here."""
        ...

    def feed(self) -> None:
        """Hand out what is queued."""
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
    """A worker process, from its handshake on."""

    def __init__(self, crew: Owner, number: int, pid: int, desk: Desk) -> None:
        """Serve a crew; `pid` is 0 where the process is of another pid namespace."""
        self.crew = crew
        self.number, self.pid = number, pid
        self.desk = desk
        self.busy: dict[int, Order] = {}
        self.since: dict[int, float] = {}
        self.alone = False  # it has a suspect in hand, and gets nothing beside it
        self.leaving = False  # it gets nothing more, and ends when it has nothing in hand
        self.asked_back: float | None = None  # since when it owes an answer to HandBack
        self.late = False  # it has not answered: what it has is done by others, too
        self.overdue: dict[int, str] = {}  # what it is killed for, and what to say of it
        self.done = 0  # reports
        self.code: int | None = None  # how it ended, once the nursery has said so
        self.latest = time.monotonic()  # when it reported last, or got something to do
        self.private_bytes_at_first: int | None = None
        self.transport: asyncio.Transport | None = None
        self._gone = self._buried = False
        self._stream: Stream[FromWorker] = Stream(FromWorker)
        self._mail = Mail()
        self._pidfd = -1

    # The connection.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to work."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        # Not before: who dies before it gets its welcome never has a connection to lose.
        with suppress(OSError):  # it is gone already, or of another pid namespace
            self._pidfd = os.pidfd_open(self.pid)
            asyncio.get_running_loop().add_reader(self._pidfd, self._died)
        self.crew.arrived(self)

    def data_received(self, data: bytes) -> None:
        """Pass on what the worker reports."""
        done = self.done
        try:
            for message in self._stream.feed(data):
                if isinstance(message, CookedEach):
                    self.done += len(message.samples)
                    self.crew.reported_each(self, message)
                elif isinstance(message, NotBegun):
                    self.asked_back = None
                    self.crew.handed_back(self, message.samples)
                elif isinstance(message, Checked):
                    self.crew.checked(self, message)
                else:
                    self.done += 1
                    self.crew.reported(self, message)
        except BadMessage as error:
            log.warning("worker %d is killed, for what it said: %s", self.pid, error)
            self.kill()
            return
        self._note_pace(self.done - done)
        self.crew.feed()

    def _note_pace(self, reports: int) -> None:
        if reports:
            now = time.monotonic()
            self.crew.note_pace(now - self.latest, reports)
            self.latest = now

    def connection_lost(self, error: Exception | None) -> None:
        """End with the connection."""
        self._end()

    def send(self, *messages: Any) -> None:
        """Send messages; to a worker that is gone they are lost."""
        if self.transport is not None:
            self._mail.send(self.transport, messages)

    # What it has in hand.

    def take(self, *orders: Order) -> None:
        """Hand out orders."""
        now = time.monotonic()
        if not self.busy:
            self.latest = now
        samples = [order.sample for order in orders]
        self.busy.update(zip(samples, orders, strict=True))
        self.since.update(dict.fromkeys(samples, now))
        self.crew.note_hands(samples, self)
        self.send(*orders)

    def drop(self, sample: int) -> Order | None:
        """Note that the worker has a sample no more."""
        self.since.pop(sample, None)
        self.crew.note_hand(sample, None)
        return self.busy.pop(sample, None)

    def drop_each(self, samples: list[int]) -> None:
        """Note that the worker has these samples no more."""
        for sample in samples:
            del self.since[sample], self.busy[sample]

    def at_work(self) -> list[Note]:
        """Return what the process works on, of what it has in hand."""
        return [note for note in self.desk.notes() if note.sample in self.busy]

    def private_bytes(self) -> int:
        """Return the memory that the process has for itself, without the arena."""
        try:
            with open(f"/proc/{self.pid}/statm") as file:
                _, resident, shared, *_ = map(int, file.read().split())
        except (OSError, ValueError):  # it has just ended
            return 0
        return (resident - shared) * os.sysconf("SC_PAGE_SIZE")

    # The end.

    def ask_back(self) -> None:
        """Ask it for what it has not begun."""
        if self.asked_back is None:
            self.asked_back = time.monotonic()
            self.send(HandBack())

    def give_up_on(self, overdue: Iterable[Note], reason: Callable[[Note, str], str]) -> None:
        """Kill the process for what it works on; `reason` is told where the code was."""
        notes = list(overdue)
        self.leaving = True
        self.overdue = {note.sample: reason(note, "") for note in notes}
        self._signal(SIGNAL)

        def end() -> None:
            if not self._gone:
                trace = self.desk.trace()
                self.overdue = {note.sample: reason(note, trace) for note in notes}
                self.kill()

        asyncio.get_running_loop().call_later(_LAST_WORDS_S, end)

    def kill(self) -> None:
        """Kill the process and what it has started; `lost` follows."""
        if self._pidfd < 0:
            if not self._gone:
                self.crew.slay(self)
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
        if self.transport is not None:
            # Not at once: what it said last is still to be read.
            asyncio.get_running_loop().call_later(0.05, self.transport.abort)

    def _end(self) -> None:
        """Tell the crew, once the nursery has said how the process ended."""
        if self._gone:
            return
        self.transport = None
        self.kill()
        self._gone = True
        if self.code is not None:
            self._bury()
        else:
            asyncio.get_running_loop().call_later(_ENDED_S, self._bury)

    def _bury(self) -> None:
        if self._buried:
            return
        self._buried = True
        self.crew.lost(self)
        if self._pidfd >= 0:
            asyncio.get_running_loop().remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = -1
        self.desk.close()
