"""The workers that one loader brings, what each has in hand, and what waits for them.

Invariant: `idle` and `short` are the workers that take more, without anything in hand and with less
than they need to go on with (pace.py); `at_work` are those that have anything to do now, and `full`
those of them that take no more; `note_room` is called whenever that may have changed. So the worker
for the next chunk, and the number at work, are found at once, however many workers there are. Not
here: which worker gets which order (feeding.py).
"""

from dataclasses import dataclass, field

from joader.schedule.work.blame import STUCK_S, Note, Pulse
from joader.schedule.work.claims import Claims
from joader.schedule.work.orders import InHand, Own, is_whole


@dataclass(eq=False, slots=True)
class Worker:
    """One worker process, as far as decisions need it."""

    id: int
    crew: "Crew"
    number: int  # torch's: below num_workers
    pid: int  # for messages
    latest: float  # when it reported last, or got something to do
    busy: dict[int, InHand] = field(default_factory=dict)  # by sample, in the order they came
    own: int = 0  # how many of them are own parts
    whole: int = 0  # how many of them are rows with their own parts
    at_once: int = 0  # rows that it may read at a time, of those in hand; 0: one, or as it does
    unplaced: set[int] = field(default_factory=set)  # sized, and not told where to go
    alone: bool = False  # it has a suspect in hand, and gets nothing else
    leaving: bool = False  # it gets nothing more, and ends when it has nothing in hand
    orphan: bool = False  # it ends because its nursery is gone: no row is to blame
    asked_back: float | None = None  # since when it owes an answer to HandBack
    pulse: Pulse | None = None  # when it was asked
    silent: int = 0  # how often it was seen since that could have answered
    gone: bool = False  # its connection has ended; how, is not known yet
    late: bool = False  # it has not answered: others do what it has, too
    overdue: tuple[Note, ...] = ()  # what it is killed for
    done: int = 0  # reports
    bytes_at_first: int = 0  # its private memory after its first rows

    def drop(self, sample: int) -> InHand | None:
        """Note that a sample is not in its hands any more."""
        order = self.busy.pop(sample, None)
        if order is not None:
            self.unplaced.discard(sample)
            self.own -= isinstance(order, Own)
            self.whole -= is_whole(order)
        return order

    def is_stuck(self, now: float) -> bool:
        """Tell whether it has had something in hand for a while and has reported nothing."""
        return bool(self.busy) and now - self.latest > STUCK_S

    @property
    def held_up(self) -> tuple[int, int]:
        """How many rows in hand wait for a slot, and how many own parts for these."""
        if not self.unplaced or not self.own:
            return len(self.unplaced), 0
        own = (one for one in self.busy.values() if isinstance(one, Own))
        return len(self.unplaced), sum(one.source in self.unplaced for one in own)

    @property
    def computes(self) -> bool:
        """Whether it has anything to do, but for what waits for a slot."""
        return len(self.busy) > sum(self.held_up)

    @property
    def runs_low(self) -> bool:
        """Whether what it has in hand will soon be done, or waits for slots: a chunk at most."""
        claims = self.crew.queue
        unplaced, held_own = self.held_up
        rows = len(self.busy) - self.own - min(unplaced, claims.shared.pace.chunk)
        own = self.own + self.whole - held_own
        if not own:
            return rows <= claims.shared.pace.low
        return rows / claims.shared.pace.low + own / claims.own_pace.low <= 1.0


@dataclass(eq=False, slots=True)
class Crew:
    """The workers of one nursery; all passes of one loader have one."""

    ticket: str  # what nursery and workers say when they come
    code: str  # what they can prepare
    queue: Claims
    jobs: set[int] = field(default_factory=set)
    most: int = 0  # how many workers it lends; 0: its share of the cores
    lends: bool = True  # it works for others, too
    home: str = ""  # where its workers run: cgroup and affinity
    reads_ahead: bool = False  # its workers begin to read all rows that they have in hand
    nursery: bool = False  # it is here, and can start workers
    ended: bool = False  # its last job has left
    reads_alone: bool = True  # no other crew has jobs with equal code
    workers: list[Worker] = field(default_factory=list)
    idle: dict[Worker, None] = field(default_factory=dict)
    short: dict[Worker, None] = field(default_factory=dict)
    at_work: set[Worker] = field(default_factory=set)
    full: set[Worker] = field(default_factory=set)
    born: dict[int, float] = field(default_factory=dict)  # numbers asked for, and since when
    not_before: float = 0.0  # when the next may be started
    in_vain: float | None = None  # since when rows wait here untaken

    @property
    def present(self) -> int:
        """How many workers there are, or will be in a moment, that take work."""
        return len(self.born) + sum(not (one.leaving or one.late) for one in self.workers)

    @property
    def late(self) -> bool:
        """Whether one of them does not answer."""
        return any(worker.late for worker in self.workers)

    @property
    def in_flight(self) -> int:
        """How many of its rows may be under way to a storage now."""
        if not self.reads_ahead:
            return len(self.at_work)  # a worker reads one at a time
        each = ((len(one.busy) - len(one.unplaced), one.at_once) for one in self.at_work)
        return sum(min(rows, at_once) if at_once else rows for rows, at_once in each)

    @property
    def running(self) -> float:
        """How many processors all its workers keep busy that have something in hand."""
        return len(self.at_work) * self.queue.computing

    @property
    def paced(self) -> bool:
        """Whether its rows have been timed."""
        return self.queue.shared.pace.known_s > 0

    def note_room(self, worker: Worker) -> None:
        """Note whether a worker takes more, after what it has in hand has changed."""
        self.full.discard(worker)
        if worker.computes and not (worker.gone or worker.late):
            self.at_work.add(worker)
            if not worker.runs_low:
                self.full.add(worker)
        else:
            self.at_work.discard(worker)
        if worker.leaving or worker.gone or worker.alone or worker.late:
            self.idle.pop(worker, None)
            self.short.pop(worker, None)
        elif not worker.busy:
            self.short.pop(worker, None)
            self.idle[worker] = None
        else:
            self.idle.pop(worker, None)
            if worker.runs_low:
                self.short[worker] = None
            else:
                self.short.pop(worker, None)

    def note_stuck(self, worker: Worker) -> None:
        """Note that a worker's row takes long, perhaps for ever: it is not counted on."""
        self.full.discard(worker)  # until it reports
        self.at_work.discard(worker)

    def next_worker(self, now: float, busy_first: bool = False) -> Worker | None:
        """Return the worker for the next chunk: first those with nothing in hand, or the others."""
        if self.idle and not (busy_first and self.short):
            return next(iter(self.idle))
        while self.short:
            worker = next(iter(self.short))
            if not worker.is_stuck(now):
                return worker
            del self.short[worker]  # until it reports
        return next(iter(self.idle), None)

    def next_numbers(self, count: int) -> list[int]:
        """Return numbers for new workers: the lowest that are free.

        torch numbers workers below num_workers; one that leaves makes room for its successor.
        """
        taken = {one.number for one in self.workers if not one.leaving} | set(self.born)
        free = (number for number in range(len(taken) + count) if number not in taken)
        return [next(free) for _ in range(count)]
