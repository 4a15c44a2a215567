"""A pool without processes: its workers and nurseries are played by the test, and so is the clock.

Hands and links are the real ones; what they are connected to is on paper. The loop's time is the
clock's, so nothing waits: `later` makes time pass.
"""

import asyncio
import functools
import inspect
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from joader.messages import (
    Bear,
    Cook,
    Cooked,
    Ended,
    Finish,
    NotBegun,
    PutAt,
    Slay,
    Stop,
    ToNursery,
    ToWorker,
    Unborn,
)
from joader.wire import Stream, frame
from joader.workers import crew, desk, hand, watch
from joader.workers.desk import READING, Desk
from joader.workers.hand import Hand
from joader.workers.link import NurseryLink
from joader.workers.pool import Pool

LAYOUT = b"layout"
SLOT_BYTES = 128
_FIRST_PID = 10_000_000  # beyond all that there can be


class Clock:
    """What `time` is to the rooms under test."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


class Loop(asyncio.SelectorEventLoop):
    """A loop that believes the clock."""

    clock: Clock

    def time(self) -> float:
        return self.clock.now


class Wire(asyncio.Transport):
    """The daemon's end of a connection: keeps what is said."""

    def __init__(self, kinds: Any) -> None:
        super().__init__()
        self.said: list[Any] = []
        self.closed = False
        self._stream: Stream[Any] = Stream(kinds)

    def write(self, data: Any) -> None:
        self.said += self._stream.feed(bytes(data))

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    abort = close


class Worker:
    """A worker that does what the test says."""

    def __init__(self, floor: "Floor", ticket: str, number: int) -> None:
        self.number, self.pid = number, _FIRST_PID + floor.born
        floor.born += 1
        self.desk = Desk()
        self.floor, self.ticket = floor, ticket
        self.wire = Wire(ToWorker)
        self.hand: Hand = floor.pool.arrive(ticket, number, self.pid, self.desk)
        self.alive = True
        self.hand.connection_made(self.wire)

    @property
    def has(self) -> list[int]:
        """Return the samples in its hands, in the order they came."""
        return list(self.hand.busy)

    @property
    def told(self) -> list[type]:
        """Return what it was told beside orders."""
        return [type(m) for m in self.wire.said if not isinstance(m, Cook | Finish | PutAt)]

    def say(self, *messages: Any) -> None:
        self.hand.data_received(b"".join(map(frame, messages)))

    def report(self, *samples: int, size_bytes: int = SLOT_BYTES) -> None:
        self.say(*(Cooked(sample, LAYOUT, size_bytes) for sample in samples))

    def begin(self, sample: int) -> None:
        """Work on a sample, as its desk tells."""
        self.desk.begin(sample, READING)

    def hand_back(self) -> None:
        """Hand back all but the first, which it works on."""
        self.say(NotBegun(tuple(self.has[1:])))

    def die(self, code: int = -9) -> None:
        """End, which its nursery tells."""
        if self.alive:
            self.alive = False
            nursery = self.floor.nurseries.get(self.ticket)
            if nursery is not None:
                nursery.say(Ended(self.number, self.pid, code))
            self.hand.connection_lost(None)


class Nursery:
    """A nursery that bears workers when the test lets it."""

    def __init__(self, floor: "Floor", ticket: str) -> None:
        self.floor, self.ticket = floor, ticket
        self.wire = Wire(ToNursery)
        self.link: NurseryLink = floor.pool.attend(ticket, _FIRST_PID - 1)
        self.read = 0
        self.link.connection_made(self.wire)

    def say(self, *messages: Any) -> None:
        self.link.data_received(b"".join(map(frame, messages)))

    def asked(self) -> list[int]:
        """Return the numbers of workers that it was asked for, each once."""
        new = self.wire.said[self.read :]
        self.read = len(self.wire.said)
        for message in new:
            if isinstance(message, Slay):
                for worker in self.floor.of(self.ticket):
                    if worker.number == message.number:
                        worker.die()
        return [message.number for message in new if isinstance(message, Bear)]

    def refuse(self, reason: str) -> None:
        self.say(Unborn(reason))


class Floor:
    """A pool of so many cores, and all that it told the daemon."""

    def __init__(self, clock: Clock, size: int = 4) -> None:
        self.clock = clock
        self.reports: list[Any] = []
        self.lost: list[tuple[tuple[int, ...], str, bool]] = []
        self.late: list[tuple[int, ...]] = []
        self.checked: list[tuple[int, int, bool]] = []
        self.limit_s = 60.0
        self.pool = Pool(
            size,
            lambda report: self._note(self.reports, report),
            lambda *told: self._note(self.lost, told),
            lambda samples: self._note(self.late, samples),
            lambda *told: self._note(self.checked, told),
            lambda code, job: self.limit_s,
            1 << 40,
        )
        self.nurseries: dict[str, Nursery] = {}
        self.workers: list[Worker] = []
        self.born = 0

    def _note(self, told: list[Any], what: Any) -> None:
        """Keep what the pool told; as with the daemon, it hands out more in the next turn."""
        told.append(what)
        asyncio.get_running_loop().call_soon(self.pool.feed)

    def join(
        self, job: int, code: str = "code", workers: int = 0, lends: bool = True, ticket: str = ""
    ) -> str:
        """Let a job come with its nursery; return its ticket."""
        ticket = ticket or f"ticket {job}"
        self.pool.join(job, ticket, code, workers, lends)
        if ticket not in self.nurseries:
            self.nurseries[ticket] = Nursery(self, ticket)
        return ticket

    def cook(self, job: int, *samples: int, code: str = "code") -> None:
        """Have rows prepared for a job."""
        for sample in samples:
            order = Cook(sample, sample, sample * SLOT_BYTES, SLOT_BYTES, 0)
            assert self.pool.cook(order, code, job)
        self.pool.feed()

    async def settle(self) -> None:
        """Let all that was said arrive, without time passing; workers that are asked for come."""
        await self.turn()
        for _ in range(20):
            asked = [(n, number) for n in list(self.nurseries.values()) for number in n.asked()]
            for nursery, number in asked:
                if self.pool.expects(nursery.ticket, number):
                    self.workers.append(Worker(self, nursery.ticket, number))
            await self.turn()
            if not asked:
                return
        raise AssertionError("there is no end of births")

    async def turn(self) -> None:
        for _ in range(4):
            await asyncio.sleep(0)

    async def later(self, seconds: float, step: float = 0.25) -> None:
        """Let time pass, in small steps."""
        end = self.clock.now + seconds
        while self.clock.now < end:
            self.clock.now = min(end, self.clock.now + step)
            await self.settle()

    def of(self, ticket: str) -> list[Worker]:
        """Return the workers of a ticket that are alive."""
        return [w for w in self.workers if w.ticket == ticket and w.alive]

    def told_to_stop(self) -> list[Worker]:
        return [worker for worker in self.workers if Stop in worker.told]

    def has(self) -> list[int]:
        """Return all samples in workers' hands."""
        return [sample for worker in self.workers if worker.alive for sample in worker.has]


def on_floor(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Play a test on a floor, whose loop and clock end with it."""

    @functools.wraps(test)
    def played(monkeypatch: pytest.MonkeyPatch, **given: Any) -> None:
        clock = Clock()
        for module in (crew, desk, hand, watch):
            monkeypatch.setattr(module, "time", clock)
        play(clock, lambda floor: test(floor, **given))

    parameters = list(inspect.signature(test).parameters.values())[1:]
    wanted = inspect.Parameter("monkeypatch", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    played.__signature__ = inspect.Signature([wanted, *parameters])  # type: ignore[attr-defined]
    return played


def play(clock: Clock, story: Callable[[Floor], Coroutine[Any, Any, None]]) -> None:
    """Play a story on a floor of its own."""

    async def all_of_it() -> None:
        floor = Floor(clock)
        try:
            await story(floor)
        finally:
            floor.pool._closing = True
            if floor.pool._watching is not None:
                floor.pool._watching.cancel()
            for worker in floor.workers:
                worker.die()
            await floor.turn()

    loop = Loop()
    loop.clock = clock
    try:
        loop.run_until_complete(all_of_it())
    finally:
        loop.close()
