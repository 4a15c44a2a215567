"""A worker: does what it is given, row by row, and reports by the chunk, as a real one does.

Computing takes processors, which it shares; reading takes the storage. What it is told and what it
says are the messages of real workers. Not modeled: samples that fail, and workers that die.
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from joader.messages import Drop, Finish, HandBack, NotBegun, Place, Prepare, Prepared, Sized, Stop
from joader.schedule.work.orders import Own, Row, is_whole, own_parts_of, rows_of
from joader.simulator.machine.clock import Clock
from joader.simulator.machine.disk import Disk
from joader.simulator.machine.resource import Resource
from joader.simulator.machine.workload import JobSpec, MachineSpec
from joader.workers.outbox import REPORT_S

LAYOUT = b"simulated"


class Hardware:
    """What the machine of a node's workers consists of."""

    def __init__(self, clock: Clock, machine: MachineSpec, disks: dict[str, Disk]) -> None:
        """Build it."""
        self.clock, self.machine, self.disks = clock, machine, disks
        self.processors = Resource(clock, self._rate)
        self.link = Resource(clock, lambda users: machine.link_mb_per_s / users)

    def _rate(self, users: int) -> float:
        busy = min(users, self.machine.cores)
        return busy / users / self.machine.cost(busy)

    def cost(self) -> float:
        """Return what a row costs beside what runs now."""
        return self.machine.cost(min(self.processors.users, self.machine.cores))


class Worker:
    """One worker process of a job."""

    def __init__(
        self,
        hardware: Hardware,
        job: JobSpec,
        sample_bytes: int,
        report: Callable[[list[Any]], None],
        end: Callable[[], None],
    ) -> None:
        """Wait for orders; `report` takes what it says, `end` that it has ended."""
        self._hardware, self._job, self._sample_bytes = hardware, job, sample_bytes
        self._report, self._end = report, end
        self._chunks: deque[deque[Row | Own]] = deque()
        self._working = False
        self._followers: dict[int, list[Own]] = {}  # by source, while that is in its hands
        self._ready: dict[int, int] = {}  # prepared here, with where it lies
        self._unplaced: dict[int, Row | Own] = {}  # done, and without a slot
        self._rows: list[int] = []  # to report
        self._own: list[int] = []
        # Seconds, of them computed, waited, and for own parts of rows that are prepared whole.
        self._spent = {Row: [0.0] * 4, Own: [0.0] * 4}
        self._since = 0.0

    def tell(self, messages: Sequence[Any]) -> None:
        """Take in what it is told."""
        for message in messages:
            match message:
                case Prepare():
                    rows = rows_of(message)
                    self._followers |= {row.sample: [] for row in rows}
                    self._chunks.append(deque(rows))
                case Finish():
                    parts = [own for one in own_parts_of(message) if (own := self._due(one))]
                    self._chunks.append(deque(parts))
                case Place():
                    for sample, offset in zip(message.samples, message.offsets, strict=True):
                        self._place(sample, offset)
                    self._flush()
                case Drop():
                    for sample in message.samples:
                        self._followers.pop(sample, None)
                        self._unplaced.pop(sample, None)
                case HandBack():
                    self._hand_back()
                case Stop():
                    self._end()
        if not self._working:
            self._next()

    def _due(self, own: Own) -> Own | None:
        """Return an own part that can be done; else it is done after its source."""
        if own.layout:
            return own
        if own.source in self._followers:
            self._followers[own.source].append(own)
            return None
        return replace(own, layout=LAYOUT, source_offset=self._ready.get(own.source, 0))

    def _hand_back(self) -> None:
        back = [order.sample for chunk in self._chunks for order in chunk]
        for chunk in self._chunks:
            chunk.clear()
        self._flush()
        self._report([NotBegun(tuple(back))])

    def _next(self) -> None:
        while self._chunks and not self._chunks[0]:
            self._chunks.popleft()
        self._working = bool(self._chunks)
        if self._working:  # its chunk stays, empty or not, until the order is done
            self._begin(self._chunks[0].popleft())

    def _begin(self, order: Row | Own) -> None:
        clock, job = self._hardware.clock, self._job
        begun = clock.now
        if not self._rows and not self._own:
            self._since = begun

        def compute() -> None:
            waited_s = clock.now - begun
            needs_s = self._needs_s(order)
            self._hardware.processors.use(needs_s, lambda: self._done(order, begun, waited_s))

        if isinstance(order, Row) and job.storage:
            disk, link = self._hardware.disks[job.storage], self._hardware.link
            disk.read(job.row_kb / 1000, link, compute)
        else:
            compute()

    def _done(self, order: Row | Own, begun: float, waited_s: float) -> None:
        spent = self._spent[type(order)]
        took_s = self._hardware.clock.now - begun
        spent[0] += took_s
        spent[1] += self._needs_s(order) * self._hardware.cost()
        spent[2] += waited_s
        if is_whole(order):
            spent[3] += (took_s - waited_s) * self._job.own_ms / (1000 * self._needs_s(order))
        if order.offset < 0:
            self._unplaced[order.sample] = order
            self._report([Sized((order.sample,), (self._sample_bytes,))])
        elif isinstance(order, Own):
            self._own.append(order.sample)
        else:
            self._chunks[0].extendleft(reversed(self._placed(order.sample, order.offset)))
        if not self._chunks[0] or self._hardware.clock.now - self._since >= REPORT_S:
            self._flush()
        self._next()

    def _needs_s(self, order: Row | Own) -> float:
        """Return how long an order computes on an idle machine."""
        row_ms = self._job.row_ms if isinstance(order, Row) else 0.0
        own_ms = self._job.own_ms if isinstance(order, Own) or order.whole else 0.0
        return max(1e-9, (row_ms + own_ms) / 1000)

    def _place(self, sample: int, offset: int) -> None:
        """Write what had no slot to one."""
        order = self._unplaced.pop(sample, None)
        if isinstance(order, Own):
            self._own.append(sample)
        elif order is not None:
            self._chunks.append(deque(self._placed(sample, offset)))

    def _placed(self, sample: int, offset: int) -> list[Own]:
        """Note that a sample is in its slot; return what is made of it next."""
        self._rows.append(sample)
        self._ready[sample] = offset
        parts = self._followers.pop(sample, [])
        return [replace(own, layout=LAYOUT, source_offset=offset) for own in parts]

    def _flush(self) -> None:
        messages = []
        for kind, samples in ((Row, self._rows), (Own, self._own)):
            if samples:
                seconds, computed_s, waited_s, own_s = self._spent[kind]
                messages.append(
                    Prepared(
                        *(tuple(samples), (self._sample_bytes,), (LAYOUT,)),
                        *(seconds, computed_s, waited_s),
                        own_s=own_s,
                    )
                )
                self._spent[kind] = [0.0] * 4
        self._rows, self._own = [], []
        if messages:
            self._report(messages)
