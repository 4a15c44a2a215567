"""Other nodes that fetch from here: each is a job to the engine, told row by row what it wants.

So equal requests are one, whoever they come from: a row that a job of this node has asked for is
waited for, one that nobody has is prepared by the workers of the jobs that are here, and what is
being sent is pinned. A guest has no pass, so nothing is kept for it alone, and no workers. Of rows
with random code it gets each preparation once, as a job does.

Every Ask is answered by one Parcel. What is not there when the guest's patience ends is not sent,
nor what cannot be prepared here: the guest then does it by itself, and has its own error.
"""

import asyncio
import logging
import secrets
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from joader.cluster.byte_server import ByteServer, Load
from joader.daemon.layouts import Layouts
from joader.daemon.registration import Registration
from joader.daemon.session import Session
from joader.errors import JoaderError
from joader.memory import Arena
from joader.memory.contents import digest
from joader.memory.layout import Layout
from joader.messages import Begin, Deliver, Event, Join, Register, Release, Want
from joader.messages.nodes import NOT_SENT, Ask, Parcel
from joader.schedule.nodes.worth import MOST_ROWS
from joader.wire import Allowance

log = logging.getLogger("joader.cluster")

# After a guest could not be taken in (no room for it), how long others do not try.
REFUSED_S = 5.0


@dataclass
class _Waiting:
    """An Ask that the engine works on."""

    server: ByteServer
    ask: Ask
    patience: asyncio.TimerHandle | None = None
    answered: bool = False


class Guest(Session):
    """A node that reads a recipe, where others have a client's connection."""

    def __init__(
        self,
        on_delivery: Callable[["Guest", Deliver], None],
        on_refuse: Callable[["Guest"], None],
    ) -> None:
        """Be nobody's process: what is for it is dealt with by `Guests`."""
        super().__init__(0, lambda *_: None, lambda *_: None, Allowance(1 << 62))
        self.waiting: deque[_Waiting] = deque()
        self.times: Counter[int] = Counter()  # how often rows with random code were asked for
        self._on_delivery, self._on_refuse = on_delivery, on_refuse

    def times_of(self, rows: list[int]) -> NDArray[np.int64]:
        """Return how often each row was asked for before: it is prepared anew each time."""
        before = np.array([self.times[row] for row in rows], np.int64)
        self.times.update(rows)
        return before

    def deliver(self, delivery: Deliver) -> None:
        """Send what it has asked for."""
        self._on_delivery(self, delivery)

    def send(self, *messages: object) -> None:
        """Send nothing: a guest is told by parcels."""

    def refuse(self, reason: str) -> None:
        """Let it do without."""
        log.info("%s is not served: %s", self.name, reason)
        self._on_refuse(self)

    def end(self) -> None:
        """Let it do without: the daemon drains."""
        self._on_refuse(self)


class Guests:
    """All nodes that fetch from this one."""

    def __init__(
        self,
        registration: Registration,
        tell: Callable[[Event], None],
        arena: Arena,
        layouts: Layouts,
    ) -> None:
        """Start without any."""
        self.registration, self._tell = registration, tell
        self._arena, self._layouts = arena, layouts
        self._guests: dict[tuple[ByteServer, str], Guest] = {}  # by recipe, on any machine
        self._refused: dict[str, float] = {}  # recipes, and until when
        self.sent_rows = self.sent_bytes = 0
        # Once this node leaves: recipes of which others take what is here, though no job reads.
        self.left_behind: Mapping[str, Register] = {}

    def asked(self, server: ByteServer, ask: Ask) -> None:
        """Take in what a node asks for."""
        if not 0 < ask.rows.size <= MOST_ROWS:
            self._answer_nothing(server, ask)
            return
        guest = self._guests.get((server, ask.recipe)) or self._new_guest(server, ask.recipe)
        if guest is None or guest.job is None or int(ask.rows.max()) >= guest.rows:
            self._answer_nothing(server, ask)
            return
        waiting = _Waiting(server, ask)
        loop = asyncio.get_running_loop()
        waiting.patience = loop.call_later(min(ask.patience_s, 60.0), self._give_up, waiting)
        guest.waiting.append(waiting)
        guest.owed += 1
        times = guest.times_of(ask.rows.tolist()) if guest.fresh and not ask.digests else None
        self._tell(Want(guest.job, ask.rows.size, loop.time(), ask.rows, times))

    def _deliver(self, guest: Guest, delivery: Deliver) -> None:
        """Send what is ready, and let go of it when it was sent."""
        waiting = guest.waiting.popleft()
        guest.owed -= 1
        if waiting.patience is not None:
            waiting.patience.cancel()
        samples = delivery.samples
        job = delivery.job

        def release() -> None:
            # The engine may have let it go already: the guest has left, or was refused.
            if samples.size and self.registration.sessions.get(job) is guest:
                self._tell(Release(job, samples))

        if waiting.answered:
            release()
            return
        failed = {place for place, _ in delivery.failed}
        self._send(waiting, delivery, failed, release)

    def _send(
        self, waiting: _Waiting, delivery: Deliver, failed: set[int], release: Callable[[], None]
    ) -> None:
        layouts: dict[bytes, int] = {}
        sizes, spans, layout_of, digests = [], [], [], []
        ready = iter(zip(delivery.samples.tolist(), delivery.offsets.tolist(), strict=True))
        for place in delivery.positions.tolist():
            if place in failed:
                sizes.append(NOT_SENT)
                layout_of.append(0)
                digests.append(b"")
                continue
            sample, offset = next(ready)
            layout = self._layouts.of(sample)
            size = Layout.from_bytes(layout).size_bytes
            sizes.append(size)
            spans.append((offset, size))
            layout_of.append(layouts.setdefault(layout, len(layouts)))
            if waiting.ask.digests:
                digests.append(digest(layout, self._arena.slot(offset, size)))
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
        """Let go of all that a node had, whose connection has ended."""
        for key, guest in [(key, guest) for key, guest in self._guests.items() if key[0] is server]:
            del self._guests[key]
            self._leave(guest)

    def forget(self, recipe: str) -> None:
        """Let guests go that read a recipe which no job of this node reads any more."""
        for key, guest in [(key, guest) for key, guest in self._guests.items() if key[1] == recipe]:
            if not guest.waiting:
                del self._guests[key]
                self._leave(guest)

    def _leave(self, guest: Guest) -> None:
        for waiting in guest.waiting:
            self._give_up(waiting)
        guest.waiting.clear()
        self.registration.leave(guest)

    def _new_guest(self, server: ByteServer, recipe: str) -> Guest | None:
        """Let a node join as a reader of a recipe that a job here reads; None if none does."""
        loop = asyncio.get_running_loop()
        host = self.registration.host_of(recipe)
        message = host.register if host is not None else self.left_behind.get(recipe)
        if message is None or self._refused.get(recipe, 0.0) > loop.time():
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
                    name=f"node {server.node.name}",
                    ground=message.ground,
                    pieces=message.pieces,
                    compare=False,
                ),
            )
            assert guest.job is not None
            # Random numbers start from it: those of no other pass do.
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
