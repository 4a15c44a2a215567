"""Serves other nodes that fetch from here: to the engine, each is a job that wants single rows.

So equal requests from jobs and guests are merged: a row that a job of this node has requested is
waited for, a missing one is prepared by the workers of local jobs, and samples being sent are
pinned. A guest has no pass, so nothing is kept for it alone, and it has no workers. If code is
random, a guest gets each preparation once, as a job does. Of rows whose home is now the guest,
because nodes came or went (`moves`), and of rows that no local job reads, it gets only what is
ready.

Every Ask is answered by one Parcel. Rows that are not ready when the guest's patience ends, or that
fail here, are left out: the guest then prepares them itself, and gets its own error.
"""

import asyncio
import logging
import secrets
from collections import Counter, deque
from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from joader.cluster.byte_server import ByteServer, Load
from joader.daemon.layouts import Layouts
from joader.daemon.registration import Registration
from joader.daemon.session import Session
from joader.engine import Engine
from joader.errors import JoaderError
from joader.memory import Arena
from joader.memory.contents import digest
from joader.memory.layout import Layout
from joader.messages import (
    Array,
    Begin,
    Deliver,
    Event,
    JobSettings,
    Join,
    Moved,
    Register,
    Release,
    Want,
)
from joader.messages.nodes import NOT_SENT, Ask, Parcel
from joader.schedule.nodes.worth import MOST_ROWS
from joader.wire import Allowance

log = logging.getLogger("joader.cluster")

# After a guest was refused for lack of memory, how long no other guest is tried.
REFUSED_S = 5.0
# Seconds without a request after which a guest reading an otherwise unused recipe is dropped.
_IDLE_S = 5.0


@dataclass
class _Waiting:
    """An Ask that the engine works on."""

    server: ByteServer
    ask: Ask
    places: Array  # its rows that are still awaited
    patience: asyncio.TimerHandle | None = None
    answered: bool = False
    by_workers: bool = False  # whether rows that are not ready get prepared


class Guest(Session):
    """A node that reads a recipe, where others have a client's connection."""

    def __init__(
        self,
        on_delivery: Callable[["Guest", Deliver], None],
        on_refuse: Callable[["Guest"], None],
    ) -> None:
        """Stand for a node instead of a process; `Guests` handles what the engine tells it."""
        super().__init__(0, lambda *_: None, lambda *_: None, Allowance(1 << 62))
        self.waiting: deque[_Waiting] = deque()
        self.asked_at = 0.0
        self.times: Counter[int] = Counter()  # how often rows with random code were asked for
        self._on_delivery, self._on_refuse = on_delivery, on_refuse

    def times_of(self, rows: list[int]) -> NDArray[np.int64]:
        """Return how often each row was asked for before; it is prepared again each time."""
        before = np.array([self.times[row] for row in rows], np.int64)
        self.times.update(rows)
        return before

    def deliver(self, delivery: Deliver) -> None:
        """Note samples that it has asked for; `Guests` sends them."""
        self._on_delivery(self, delivery)

    def send(self, *messages: object) -> None:
        """Send nothing: guests get their answers as parcels."""

    def refuse(self, reason: str) -> None:
        """Answer its requests with what is ready, and drop it."""
        log.info("%s is not served: %s", self.name, reason)
        self._on_refuse(self)

    def end(self) -> None:
        """Drop it, because the daemon drains."""
        self._on_refuse(self)


class Guests:
    """All nodes that fetch from this one."""

    def __init__(
        self,
        engine: Engine,
        registration: Registration,
        tell: Callable[[Event], None],
        arena: Arena,
        layouts: Layouts,
    ) -> None:
        """Start without guests."""
        self.registration, self._tell = registration, tell
        self._inheritance = engine.inheritance
        self._arena, self._layouts = arena, layouts
        self._guests: dict[tuple[ByteServer, str], Guest] = {}  # by everyone's name of a recipe
        self._refused: dict[str, float] = {}  # recipes refused for lack of room, and until when
        self.sent_rows = self.sent_bytes = 0

    def asked(self, server: ByteServer, ask: Ask) -> None:
        """Take in a request of a node."""
        if not 0 < ask.rows.size <= MOST_ROWS:
            self._answer_nothing(server, ask)
            return
        guest = self._guest(server, ask)
        if guest is None or guest.job is None or int(ask.rows.max()) >= guest.rows:
            self._answer_nothing(server, ask)
            return
        places, rows = np.arange(ask.rows.size), ask.rows
        by_workers = not ask.moves and self.registration.host_of(ask.recipe) is not None
        if not by_workers:
            # Not rows on their way here: they may be coming from the asking node, and would
            # deadlock.
            places = np.flatnonzero(self._inheritance.ready(guest.recipe, ask.rows))
            rows = ask.rows[places]
        if not places.size:
            self._answer_nothing(server, ask)
            return
        waiting = _Waiting(server, ask, places, by_workers=by_workers)
        loop = asyncio.get_running_loop()
        guest.asked_at = loop.time()
        waiting.patience = loop.call_later(min(ask.patience_s, 60.0), self._give_up, waiting)
        guest.waiting.append(waiting)
        guest.owed += 1
        times = guest.times_of(rows.tolist()) if guest.fresh and not ask.digests else None
        self._tell(Want(guest.job, rows.size, loop.time(), rows, times))

    def _deliver(self, guest: Guest, delivery: Deliver) -> None:
        """Send what is ready, and release it once it was sent."""
        waiting = guest.waiting.popleft()
        guest.owed -= 1
        if waiting.patience is not None:
            waiting.patience.cancel()
        samples = delivery.samples
        job = delivery.job

        def release() -> None:
            # The engine may have dropped it already: the guest has left, or was refused.
            if samples.size and self.registration.sessions.get(job) is guest:
                if waiting.ask.moves and not waiting.ask.digests:
                    self._tell(Moved(tuple(samples.tolist())))
                self._tell(Release(job, samples))

        if waiting.answered:
            release()
            return
        failed = {place for place, _ in delivery.failed}
        self._send(waiting, delivery, failed, release)

    def _send(
        self, waiting: _Waiting, delivery: Deliver, failed: set[int], release: Callable[[], None]
    ) -> None:
        count = waiting.ask.rows.size
        layouts: dict[bytes, int] = {}
        spans, sizes, layout_of, digests = [], [NOT_SENT] * count, [0] * count, [b""] * count
        ready = iter(zip(delivery.samples.tolist(), delivery.offsets.tolist(), strict=True))
        for position, place in zip(delivery.positions.tolist(), waiting.places, strict=True):
            if position in failed:
                continue
            sample, offset = next(ready)
            layout = self._layouts.of(sample)
            size = Layout.from_bytes(layout).size_bytes
            sizes[place] = size
            spans.append((offset, size))
            layout_of[place] = layouts.setdefault(layout, len(layouts))
            if waiting.ask.digests:
                digests[place] = digest(layout, self._arena.slot(offset, size))
        waiting.answered = True
        if waiting.ask.digests:
            spans = []
        parcel = Parcel(
            waiting.ask.number,
            tuple(sizes),
            tuple(layouts) or (b"",),
            tuple(layout_of),
            tuple(digests) if waiting.ask.digests else (),
        )
        self.sent_rows += len(spans)
        self.sent_bytes += sum(size for _, size in spans)
        waiting.server.send(Load(parcel, spans, release))

    def gone(self, server: ByteServer) -> None:
        """Release all that a node held whose connection has ended."""
        for key, guest in [(key, guest) for key, guest in self._guests.items() if key[0] is server]:
            del self._guests[key]
            self._leave(guest)

    def let_go(self, hosted: Collection[str]) -> None:
        """Drop idle guests that read what no local job reads.

        Also drop those that wait for rows of a job that has left: their next requests would wait
        behind these, even for rows that are ready. They come again.
        """
        before = asyncio.get_running_loop().time() - _IDLE_S
        for key, guest in list(self._guests.items()):
            in_vain = any(one.by_workers for one in guest.waiting)
            idle = not guest.waiting and guest.asked_at < before
            if key[1] not in hosted and (in_vain or idle):
                del self._guests[key]
                self._leave(guest)

    def _leave(self, guest: Guest) -> None:
        for waiting in guest.waiting:
            self._give_up(waiting)
        guest.waiting.clear()
        self.registration.leave(guest)

    def _guest(self, server: ByteServer, ask: Ask) -> Guest | None:
        """Return a node's guest for a recipe; None if no job here can serve it."""
        host = self.registration.host_of(ask.recipe)
        message = host.register if host is not None else None
        # Samples that former jobs left in memory are sent, too.
        message = message or self.registration.hosted.get(ask.recipe)
        if message is None or (ask.moves and message.join.fresh):
            return None
        return self._guests.get((server, ask.recipe)) or self._joined(server, ask.recipe, message)

    def _joined(self, server: ByteServer, recipe: str, message: Register) -> Guest | None:
        """Have a node join as a reader; None if there is no room for it."""
        loop = asyncio.get_running_loop()
        if self._refused.get(recipe, 0.0) > loop.time():
            return None
        guest = Guest(self._deliver, lambda one: self._refuse(one, recipe))
        rows = np.arange(message.join.row_limit, dtype=np.int64)
        join = Join(
            0,
            message.join.recipe,
            rows,
            message.join.row_limit,
            MOST_ROWS,
            order="told",
            fresh=message.join.fresh,
            elsewhere=True,
            reads_for=f"node {server.node.name}",
            stream=message.join.stream,
        )
        try:
            self.registration.register(
                guest,
                Register(
                    join,
                    JobSettings(f"node {server.node.name}"),
                    ground=message.ground,
                    pieces=message.pieces,
                    compare=False,
                ),
            )
            assert guest.job is not None
            # Seeds the random numbers, so it must differ from all other passes.
            self._tell(Begin(guest.job, key=secrets.randbits(63)))
        except JoaderError as error:
            guest.refuse(str(error))
            return None
        self._guests[server, recipe] = guest
        return guest

    def _refuse(self, guest: Guest, recipe: str) -> None:
        self._refused[recipe] = asyncio.get_running_loop().time() + REFUSED_S
        for key in [key for key, one in self._guests.items() if one is guest]:
            del self._guests[key]
        self._leave(guest)

    def _give_up(self, waiting: _Waiting) -> None:
        if not waiting.answered:
            waiting.answered = True
            self._answer_nothing(waiting.server, waiting.ask)

    def _answer_nothing(self, server: ByteServer, ask: Ask) -> None:
        count = ask.rows.size
        digests = (b"",) * count if ask.digests else ()
        parcel = Parcel(ask.number, (NOT_SENT,) * count, (b"",), (0,) * count, digests)
        server.send(Load(parcel, (), lambda: None))
