"""The workers of one environment: processes, what each has in hand, and what waits for one.

Each worker has up to AHEAD rows in hand a thread, so that it never waits for the daemon; the rest
queue here in the order the engine gave them, which is nearest deadline first.

An *own part* (`Finish`) goes along with the row it needs: it is *held* while that row waits in the
queue, sent with it or after it to the same worker, and queued like a row once its source is ready.

A worker that dies takes all it has in hand with it, and nobody knows which of it was the cause. So
what comes back as *suspect* is done alone: a worker that dies again has named the culprit.

A crew's processes keep the modules they have imported, so it serves code that is older than it.
Owner of worker processes and sockets: this class. All of it runs on the daemon's event loop.
"""

import asyncio
import os
import socket
import subprocess
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import msgspec

from joader.errors import BadMessage
from joader.memory import Arena
from joader.messages import (
    Cook,
    Cooked,
    Environment,
    Finish,
    FromWorker,
    OwnBody,
    PutAt,
    RecipeBody,
    Spoiled,
    Stop,
    TooBig,
)
from joader.wire import Mail, Stream

AHEAD = 4
# One thread each: with a process a core, the threads of numeric libraries only fight for the cores.
_ONE_THREAD = ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "VECLIB")

Order = Cook | Finish
Report = Cooked | TooBig | Spoiled


class Hand(asyncio.Protocol):
    """One worker process as the daemon sees it."""

    def __init__(self, crew: "Crew", process: subprocess.Popen[bytes], number: int) -> None:
        """Belong to this crew, with a number among its workers."""
        self.crew = crew
        self.process = process
        self.number = number
        self.knows: set[str | int] = set()  # recipes, and jobs with an own part
        self.busy: dict[int, Order] = {}
        self.since: dict[int, float] = {}
        self.alone = False  # it has a suspect in hand, and gets nothing beside it
        self._stream: Stream[FromWorker] = Stream(FromWorker)
        self._mail = Mail()
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to work."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.crew.feed()

    def data_received(self, data: bytes) -> None:
        """Pass on what the worker reports."""
        try:
            for message in self._stream.feed(data):
                self.crew.reported(self, message)
        except BadMessage:
            self.process.kill()
        self.crew.feed()

    def connection_lost(self, error: Exception | None) -> None:
        """End with the process."""
        self.crew.lost(self)

    def send(self, *messages: Any) -> None:
        """Send messages; to a worker that is gone they are lost."""
        if self.transport is not None:
            self._mail.send(self.transport, messages)

    def take(self, order: Order, body: bytes) -> None:
        """Hand out an order, with its code the first time."""
        name = order.recipe if isinstance(order, Cook) else order.job
        if name not in self.knows:
            self.knows.add(name)
            learn = RecipeBody(name, body) if isinstance(name, str) else OwnBody(name, body)
            self.send(learn)
        self.busy[order.sample] = order
        self.crew.note_hand(order.sample, self)
        self.since[order.sample] = time.monotonic()
        self.send(order)

    def drop(self, sample: int) -> Order | None:
        """Note that the worker has a sample no more."""
        self.since.pop(sample, None)
        self.crew.note_hand(sample, None)
        return self.busy.pop(sample, None)


class Crew:
    """Workers that can run each other's rows."""

    def __init__(
        self,
        environment: Environment,
        arena: Arena,
        size: int,
        threads: int,
        code_of: Callable[[str | int], bytes],
        on_report: Callable[[Report, int], None],
        on_lost: Callable[[tuple[int, ...], str], None],
    ) -> None:
        """Start without processes."""
        self.environment = environment
        self.started = time.time()
        self.queue: deque[Order] = deque()
        self.hands: list[Hand] = []
        self.ended = False
        self._arena = arena
        self._size = size
        self._threads = threads
        self._code_of = code_of
        self._on_report = on_report
        self._on_lost = on_lost
        self._held: dict[int, list[Finish]] = {}  # by source, which no worker has yet
        self._suspects: set[int] = set()
        self._hand_of: dict[int, Hand] = {}  # by sample
        self._tasks: set[asyncio.Task[Any]] = set()

    def note_hand(self, sample: int, hand: Hand | None) -> None:
        """Note who has a sample in hand."""
        if hand is None:
            self._hand_of.pop(sample, None)
        else:
            self._hand_of[sample] = hand

    # Work in.

    def cook(self, order: Cook) -> None:
        """Queue a row."""
        self.queue.append(order)

    def finish(self, order: Finish) -> None:
        """Queue an own part, or let it go along with its source."""
        if order.layout:
            self.queue.append(order)
            return
        hand = self._hand_of.get(order.source)
        if hand is not None and not hand.alone:
            hand.take(order, self._code_of(order.job))
        else:
            self._held.setdefault(order.source, []).append(order)

    def ready(self, source: int, offset: int, layout: bytes) -> None:
        """Queue the own parts whose source is in its slot now, before all else."""
        for order in reversed(self._held.pop(source, [])):
            self.queue.appendleft(
                msgspec.structs.replace(order, source_offset=offset, layout=layout)
            )

    def gone(self, source: int) -> None:
        """Drop own parts whose source will not come."""
        self._held.pop(source, None)
        for hand in self.hands:
            for order in [o for o in hand.busy.values() if isinstance(o, Finish)]:
                if order.source == source and not order.layout:
                    hand.drop(order.sample)
                    self._suspects.discard(order.sample)

    def drop(self, sample: int) -> None:
        """Forget a sample that its worker was told to drop, and what waits for it."""
        hand = self._hand_of.get(sample)
        if hand is not None:
            hand.drop(sample)
            self._cleared(sample, hand)
        self.gone(sample)

    def put_at(self, order: PutAt) -> None:
        """Tell the worker that has the sample where to put it; if it is ending, `lost` follows."""
        hand = self._hand_of.get(order.sample)
        if hand is not None:
            known = hand.busy[order.sample]
            hand.busy[order.sample] = msgspec.structs.replace(known, offset=order.offset)
            hand.send(order)

    def forget(self, belongs: Callable[[Order], bool]) -> list[int]:
        """Drop what no worker has yet of those that belong; return their samples."""
        gone = [order.sample for order in self.queue if belongs(order)]
        self._suspects.difference_update(gone)
        self.queue = deque(order for order in self.queue if not belongs(order))
        for source, held in list(self._held.items()):
            gone += [order.sample for order in held if belongs(order)]
            self._held[source] = [order for order in held if not belongs(order)]
            if not self._held[source]:
                del self._held[source]
        return gone

    def kill_stuck(self, belongs: Callable[[Order], bool]) -> None:
        """Kill workers that still have something of what belongs in hand."""
        for hand in self.hands:
            if any(belongs(order) for order in hand.busy.values()):
                hand.process.kill()

    def feed(self) -> None:
        """Hand out what is queued to the workers with the least in hand."""
        limit = AHEAD * self._threads
        ready = [hand for hand in self.hands if hand.transport is not None]
        while self.queue:
            ready = [hand for hand in ready if not hand.alone and len(hand.busy) < limit]
            hand = min(ready, key=lambda hand: len(hand.busy), default=None)
            suspect = self.queue[0].sample in self._suspects
            if hand is None or (suspect and hand.busy):
                return
            order = self.queue.popleft()
            hand.alone = suspect
            if isinstance(order, Finish):
                hand.take(order, self._code_of(order.job))
                continue
            hand.take(order, self._code_of(order.recipe))
            if not suspect:
                for own in self._held.pop(order.sample, ()):
                    hand.take(own, self._code_of(own.job))

    # Reports out.

    def reported(self, hand: Hand, message: FromWorker) -> None:
        """Note that a worker has reported, and pass it on."""
        order = hand.busy.get(message.sample)
        if order is None:
            return  # nobody waits for it any more
        if not isinstance(message, TooBig):
            hand.drop(message.sample)
            self._cleared(message.sample, hand)
        self._on_report(message, order.offset)

    def _cleared(self, sample: int, hand: Hand) -> None:
        """Note that a sample did not end its worker."""
        self._suspects.discard(sample)
        hand.alone = False

    def whereabouts(self, sample: int) -> str | None:
        """Say in words where a sample is, if it is with this crew."""
        for hand in self.hands:
            if sample in hand.busy:
                first = next(iter(hand.busy.values()))
                seconds = time.monotonic() - hand.since[first.sample]
                where = f"worker process {hand.process.pid}"
                if first.sample == sample:
                    return f"has been with {where} for {seconds:.1f} s"
                what = f"row {first.row}" if isinstance(first, Cook) else "a job's own part"
                return f"waits in {where} behind {what}, there for {seconds:.1f} s"
        place = next((n for n, order in enumerate(self.queue) if order.sample == sample), None)
        if place is None:
            held = any(o.sample == sample for orders in self._held.values() for o in orders)
            return "waits for the shared part of its sample" if held else None
        workers = ", ".join(str(hand.process.pid) for hand in self.hands) or "none yet"
        return f"waits behind {place} others for a free worker (processes: {workers})"

    # Processes.

    def start(self) -> None:
        """Start one more worker."""
        ours, theirs = socket.socketpair()
        arena = self._arena.writable_descriptor()
        command = [self.environment.interpreter, "-m", "joader.workers.loop"]
        command += [f"--socket={theirs.fileno()}", f"--arena={arena}"]
        command += [f"--arena-bytes={self._arena.size_bytes}", f"--threads={self._threads}"]
        number = min(set(range(self._size)) - {hand.number for hand in self.hands}, default=0)
        command += [f"--number={number}", f"--workers={self._size}"]
        variables = {f"{name}_NUM_THREADS": "1" for name in _ONE_THREAD}
        variables["PYTHONPATH"] = os.pathsep.join(self.environment.path)
        try:
            process = subprocess.Popen(
                command,
                pass_fds=(theirs.fileno(), arena),
                stdin=subprocess.DEVNULL,
                cwd=self.environment.folder,
                env={**os.environ, **variables},
            )
        finally:
            theirs.close()
            os.close(arena)
        hand = Hand(self, process, number)
        self.hands.append(hand)
        ours.setblocking(False)
        connect = asyncio.get_running_loop().create_connection(lambda: hand, sock=ours)
        task = asyncio.ensure_future(connect)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def lost(self, hand: Hand) -> None:
        """Replace a worker that died, and say which samples went with it."""
        hand.transport = None
        self.hands.remove(hand)
        if self.ended:
            return
        code = hand.process.wait()
        self.start()
        for sample in hand.busy:
            del self._hand_of[sample]
        if hand.busy:
            # Own parts held for a row that is lost are told anew with it.
            gone = list(hand.busy)
            for sample in list(gone):
                gone += [order.sample for order in self._held.pop(sample, ())]
            self._suspects.update(gone)
            how = f"signal {-code}" if code < 0 else f"exit code {code}"
            self._on_lost(tuple(gone), f"the worker that prepared it died ({how})")

    def end(self) -> list[subprocess.Popen[bytes]]:
        """Tell all workers to end; return their processes, to be waited for."""
        self.ended = True
        for hand in self.hands:
            hand.send(Stop())
        return [hand.process for hand in self.hands]
