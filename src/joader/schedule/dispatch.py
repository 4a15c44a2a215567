"""Which worker gets which rows, when workers are born, and when they end.

A row goes to the crew of the job that needs it first. A crew that has nothing of its own to do
helps others with equal code (fingerprint and place), unless its loader keeps its workers to itself.
Own parts are done by the job's own crew: nobody else has the code. Rows queue in the order the
engine gave them, which is nearest deadline first; each worker has a few in hand (pace.py), so that
it never waits for the daemon.

Workers are born when something waits and none has room: of all crews with equal code together no
more than the machine has cores, or the most that one of them lends, and of each at least one. They
end when they were idle for IDLE_S.

Values in, values out: `out` collects what is to be done, and whoever calls carries it out. Nothing
here knows a clock, a process or a socket. Not here: who is to blame for what (blame.py).
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple

from msgspec.structs import replace

from joader.errors import BadMessage
from joader.messages import (
    Compare,
    Compared,
    Drop,
    Event,
    Failed,
    Finish,
    FromWorker,
    HandBack,
    Late,
    Lost,
    NotBegun,
    Place,
    Prepare,
    Prepared,
    Sized,
    Stop,
    ToWorker,
)
from joader.schedule import blame
from joader.schedule.blame import LATE_S, STUCK_S, Note
from joader.schedule.crew import Crew, Worker
from joader.schedule.orders import Order, Own, Row, messages_of, own_parts_of, rows_of
from joader.statistics import CrewStatistics

# How long the workers of a job that is gone may go on with what others wait for.
GRACE_S = 2.0
# After a worker that ended before it did anything: bearing the next at once would be a busy loop.
PAUSE_S = 1.0
# A worker that has had nothing to do for so long ends.
IDLE_S = 10.0
# A worker that was to be born and has not come in this time will not come.
_BIRTH_S = 30.0
# How much of a ticket others are shown: enough to tell crews apart, too little to come as a worker.
_SHOWN_LETTERS = 8

_NOBODY = "nobody reads it any more"


class Give(NamedTuple):
    """Send messages to a worker."""

    worker: int
    messages: Sequence[ToWorker]


class Bear(NamedTuple):
    """Ask the nursery of a ticket for a worker of this number."""

    ticket: str
    number: int


class Abandon(NamedTuple):
    """Let a worker say where its code is, and kill it."""

    worker: int


class Dismiss(NamedTuple):
    """Kill what is left of a crew's workers, and let its nursery go."""

    ticket: str
    workers: tuple[int, ...]


class Tell(NamedTuple):
    """Tell the engine."""

    event: Event


class Warn(NamedTuple):
    """Say something in the log."""

    text: str


Action = Give | Bear | Abandon | Dismiss | Tell | Warn


@dataclass(frozen=True, slots=True)
class Lent:
    """What a job brings: which workers, what they can prepare, and what for."""

    ticket: str
    code: str
    workers: int = 0  # the most it lends; 0: its share of the cores
    lends: bool = True  # to others with equal code, while they have nothing to do
    waits: bool = False  # rows wait for a network, many at a time
    timeout_s: float = math.inf  # how long the job waits for a row


class Seen(NamedTuple):
    """What is known of a worker's process from outside, now and then."""

    at_work: Sequence[Note]
    private_bytes: int


class Dispatch:
    """All crews of a node, and who of them does what."""

    def __init__(self, cores: int, most_growth_bytes: int) -> None:
        """Start without any; a worker that grows by more than so many bytes is replaced."""
        self.out: list[Action] = []
        self.suspects: set[int] = set()
        self._cores = cores
        self._most_growth_bytes = most_growth_bytes
        self._crews: dict[str, Crew] = {}  # by ticket
        self._crew_of: dict[int, Crew] = {}  # by job
        self._timeout_s: dict[int, float] = {}  # by job
        self._leave_at: dict[str, float] = {}  # when crews without jobs are dismissed, by ticket
        self._ids = count()
        self._workers: dict[int, Worker] = {}
        self._holder: dict[int, Worker] = {}  # by sample; comparisons are nobody's
        self._compares: dict[tuple[str, int], int] = {}  # by ticket and sample: for which job
        self._seen = blame.Seen()
        self._closing = False

    # Jobs come and go.

    def knows(self, ticket: str) -> bool:
        """Tell whether a crew is here already: what its workers prepare was compared."""
        return ticket in self._crews

    def join(self, job: int, lent: Lent) -> None:
        """Take in what a job brings; passes of one loader have one crew."""
        crew = self._crews.get(lent.ticket)
        if crew is None:
            crew = self._crews[lent.ticket] = Crew(lent.ticket, lent.code)
        elif crew.code != lent.code:
            raise BadMessage("one nursery cannot serve two recipes")
        crew.ended = False
        self._leave_at.pop(lent.ticket, None)
        crew.jobs.add(job)
        crew.most, crew.lends, crew.waits = lent.workers, lent.lends, lent.waits
        self._crew_of[job] = crew
        self._timeout_s[job] = lent.timeout_s

    def leave(self, job: int, now: float) -> None:
        """Let a job go, and say which samples nobody will prepare: their code is gone.

        What its workers have in hand others may wait for: they get a moment for it.
        """
        self._timeout_s.pop(job, None)
        crew = self._crew_of.pop(job, None)
        if crew is None:
            return
        crew.jobs.discard(job)
        if not crew.jobs:
            self._leave_at[crew.ticket] = now + GRACE_S
            self._unread(self._end(crew))

    def _end(self, crew: Crew) -> list[int]:
        """Have a crew's workers end; return the samples that none of them has."""
        crew.ended = True
        gone = [order.sample for order in crew.queue if not isinstance(order, Compare)]
        gone += [own.sample for held in crew.held.values() for own in held]
        self.suspects.difference_update(gone)
        crew.queue.clear()
        crew.held.clear()
        for worker in crew.workers:
            worker.leaving = True
            self._let_leave(worker)
        return gone

    def _unread(self, samples: Sequence[int]) -> None:
        # If another job waits for one of them, that job's code will do.
        if samples and not self._closing:
            own = self._let_go(samples)
            self._tell(Lost((*samples, *own), _NOBODY, blamed=False))

    def renew(self, job: int) -> None:
        """Let a job's workers end when they have done what they have; others are born."""
        if job in self._crew_of:
            for worker in self._crew_of[job].workers:
                worker.leaving = True
                self._let_leave(worker)

    def close(self) -> None:
        """Have all workers end; nobody is to be told any more."""
        self._closing = True
        for crew in self._crews.values():
            self._end(crew)

    # Work in.

    def prepare(self, message: Prepare, code: str) -> None:
        """Have rows prepared, by their job's own crew if it can."""
        crew = self._crew_of.get(message.job)
        if crew is None or crew.code != code:
            able = [one for one in self._crews.values() if one.code == code and one.jobs]
            crew = min(able, key=lambda one: len(one.queue), default=None)
        if crew is None:
            self._unread(message.samples)  # who could has just left
        else:
            crew.queue += rows_of(message)

    def finish(self, message: Finish, now: float) -> None:
        """Have a job's own parts done; they go along with their sources, if those are underway."""
        crew = self._crew_of[message.job]
        for own in own_parts_of(message):
            self._finish(crew, own, now)

    def _finish(self, crew: Crew, own: Own, now: float) -> None:
        if own.layout:
            crew.queue.append(own)
            return
        worker = self._holder.get(own.source)
        if worker is not None and worker.crew is crew and not worker.alone and not worker.late:
            self._give(worker, [own], now)
        else:
            crew.held.setdefault(own.source, []).append(own)

    def compare(self, message: Compare) -> None:
        """Have a job's own crew compare a row; the outcome is told once, whatever happens."""
        crew = self._crew_of[message.job]
        self._compares[crew.ticket, message.sample] = message.job
        crew.queue.appendleft(message)  # before all else: its job waits for it

    def place(self, message: Place) -> None:
        """Say where samples go that did not fit; if their worker is ending, `Lost` follows."""
        for sample, offset, size_bytes in zip(
            message.samples, message.offsets, message.sizes, strict=True
        ):
            worker = self._holder.get(sample)
            if worker is not None:
                known = worker.busy[sample]
                assert not isinstance(known, Compare)
                worker.busy[sample] = replace(known, offset=offset, size_bytes=size_bytes)
                self.out.append(Give(worker.id, [Place((sample,), (offset,), (size_bytes,))]))

    def drop(self, samples: Iterable[int]) -> None:
        """Forget samples that nobody wants any more, and what waits for them."""
        for sample in samples:
            worker = self._holder.get(sample)
            if worker is not None:
                self.out.append(Give(worker.id, [Drop((sample,))]))
                self._dropped(worker, sample)
                self._cleared(worker, sample)
            self._gone(sample)

    # Work out.

    def feed(self, now: float) -> None:
        """Hand out what waits: to the crews it is for, then to those that have nothing to do."""
        waiting = []
        for crew in self._crews.values():
            if crew.queue:
                self._feed(crew, now)
                if crew.queue:
                    waiting.append(crew)
        for crew in waiting:
            group = [one for one in self._crews.values() if one.code == crew.code]
            for other in group:
                if other is not crew and other.lends and other.jobs and not other.queue:
                    self._help(other, crew, now)
            if crew.queue:
                self._bear(crew, group, now)

    def _feed(self, crew: Crew, now: float) -> None:
        """Hand out what is queued to those of a crew with the least in hand."""
        ready = [one for one in crew.workers if not (one.leaving or one.gone)]
        while crew.queue:
            ready = [one for one in ready if not one.alone and one.room(now)]
            worker = min(ready, key=lambda one: len(one.busy), default=None)
            if worker is None:
                return
            # Others have nothing to do either, or are about to be born.
            share = -(-len(crew.queue) // (len(ready) + len(crew.born)))
            rows = self._plain_rows(crew, crew, max(1, min(worker.room(now) // 2, share)))
            if rows:
                self._give(worker, rows, now)
            elif not self._give_next(worker, now):
                return

    def _help(self, crew: Crew, other: Crew, now: float) -> None:
        """Hand out what another crew has queued to those of a crew that have nothing to do."""
        ready = [
            one
            for one in crew.workers
            if not (one.leaving or one.gone or one.busy) and one.room(now)
        ]
        for number, worker in enumerate(ready):
            share = -(-len(other.queue) // (len(ready) - number))
            rows = self._plain_rows(other, crew, max(1, min(worker.room(now) // 2, share)))
            if not rows:
                return
            self._give(worker, rows, now)

    def _plain_rows(self, crew: Crew, by: Crew, most: int) -> list[Order]:
        """Take the next rows of a crew's queue, as long as they are nothing special.

        That is: none is suspect, and nothing is held for them that should go along.
        """
        rows: list[Order] = []
        while crew.queue and len(rows) < most:
            order = crew.queue[0]
            if not isinstance(order, Row) or order.sample in self.suspects:
                break
            if by is crew and order.sample in crew.held:
                break
            rows.append(order)
            crew.queue.popleft()
        return rows

    def _give_next(self, worker: Worker, now: float) -> bool:
        """Hand out the next in the queue; False for a suspect, if the worker has others."""
        crew = worker.crew
        suspect = crew.queue[0].sample in self.suspects
        if suspect and worker.busy:
            return False
        order = crew.queue.popleft()
        worker.alone = suspect
        along: list[Own] = []
        if isinstance(order, Row) and not suspect:
            along = crew.held.pop(order.sample, [])
        self._give(worker, [order, *along], now)
        return True

    def _give(self, worker: Worker, orders: Sequence[Order], now: float) -> None:
        if not worker.busy:
            worker.latest = now
        for order in orders:
            worker.busy[order.sample] = order
            worker.since[order.sample] = now
            if not isinstance(order, Compare):
                self._holder[order.sample] = worker
        self.out.append(Give(worker.id, messages_of(orders)))

    def _bear(self, crew: Crew, group: list[Crew], now: float) -> None:
        """Have workers born for what is queued, if the nursery is here."""
        if not crew.nursery or crew.ended or now < crew.not_before:
            return
        free = sum(1 for one in crew.workers if not one.leaving and not one.busy) + len(crew.born)
        wanted = min(self._may_bear(crew, group), len(crew.queue) - free)
        for number in crew.next_numbers(max(0, wanted)):
            crew.born[number] = now
            self.out.append(Bear(crew.ticket, number))

    def _may_bear(self, crew: Crew, group: list[Crew]) -> int:
        """Return how many more workers a crew may have now."""
        codes = len({one.code for one in self._crews.values() if one.jobs})
        most = crew.most or max(1, self._cores // max(1, codes))
        ceiling = max(self._cores, *(one.most for one in group))
        present = sum(one.present for one in group if one.lends or one is crew)
        least = 0 if crew.present else 1
        return min(most - crew.present, max(ceiling - present, least))

    # What workers report.

    def reported(self, id: int, messages: Iterable[FromWorker], now: float) -> None:
        """Take in what a worker has said; BadMessage if it cannot be."""
        worker = self._workers[id]
        done = worker.done
        for message in messages:
            self._reported(worker, message, now)
        if worker.done > done:
            worker.crew.pace.note(now - worker.latest, worker.done - done)
            worker.latest = now
        self._let_leave(worker)
        self._feed(worker.crew, now)

    def _reported(self, worker: Worker, message: FromWorker, now: float) -> None:
        match message:
            case Prepared():
                worker.done += len(message.samples)
                self._prepared(worker, message)
            case Sized():
                worker.done += len(message.samples)
                self._sized(worker, message)
            case Failed():
                worker.done += 1
                self._failed(worker, message)
            case Compared():
                self._compared(worker, message.sample, message.same)
            case NotBegun():
                worker.asked_back = None
                self._handed_back(worker, message.samples, now)

    def _prepared(self, worker: Worker, message: Prepared) -> None:
        # Nobody waits any more for what it does not have.
        known = [sample for sample in dict.fromkeys(message.samples) if sample in worker.busy]
        orders: list[Row | Own] = []
        for sample in known:
            order = worker.busy[sample]
            if isinstance(order, Compare) or not 0 < message.size_bytes <= order.size_bytes:
                raise BadMessage(f"{message.size_bytes} bytes in the slot of sample {sample}")
            orders.append(order)
        if not orders:
            return
        worker.late = False
        for order in orders:
            self._dropped(worker, order.sample)
            self._cleared(worker, order.sample)
        self._tell(replace(message, samples=tuple(known)))
        for crew in self._crews.values():
            if crew.held:
                for order in orders:
                    self._source_is_ready(crew, order, message.layout)

    def _source_is_ready(self, crew: Crew, source: Order, layout: bytes) -> None:
        """Queue the own parts whose source is in its slot now, before all else."""
        assert not isinstance(source, Compare)
        held = crew.held.pop(source.sample, ())
        crew.put_back(replace(own, source_offset=source.offset, layout=layout) for own in held)

    def _sized(self, worker: Worker, message: Sized) -> None:
        if len(message.samples) != len(message.sizes):
            raise BadMessage("sizes of other samples than are named")
        for sample, size_bytes in zip(message.samples, message.sizes, strict=True):
            order = worker.busy.get(sample)
            if order is None or isinstance(order, Compare):
                continue
            worker.late = False
            # Its slot, if it had one, is not its any more.
            worker.busy[sample] = replace(order, offset=-1, size_bytes=0)
            self._tell(Sized((sample,), (size_bytes,)))

    def _failed(self, worker: Worker, message: Failed) -> None:
        order = worker.busy.get(message.sample)
        if isinstance(order, Compare):  # it cannot be prepared here; who wants it will be told why
            self._compared(worker, message.sample, same=True)
        elif order is not None:
            worker.late = False
            self._dropped(worker, message.sample)
            self._cleared(worker, message.sample)
            self._tell(message)
            self._gone(message.sample)

    def _compared(self, worker: Worker, sample: int, same: bool) -> None:
        if not isinstance(worker.busy.get(sample), Compare):
            return
        worker.drop(sample)
        job = self._compares.pop((worker.crew.ticket, sample), None)
        if job is not None:
            self._tell(Compared(job, sample, same))

    def _handed_back(self, worker: Worker, samples: Iterable[int], now: float) -> None:
        """Let others do what a worker has not begun."""
        worker.late = False
        orders = [order for s in samples if (order := self._dropped(worker, s)) is not None]
        crew = worker.crew
        if crew.ended:
            self._lose([order.sample for order in orders], "its job has left", blamed=False)
            return
        crew.put_back(o for o in orders if not isinstance(o, Own) or o.layout)
        for order in orders:
            if isinstance(order, Own) and not order.layout:
                self._finish(crew, order, now)

    def _dropped(self, worker: Worker, sample: int) -> Order | None:
        order = worker.drop(sample)
        if self._holder.get(sample) is worker:
            del self._holder[sample]
        return order

    def _cleared(self, worker: Worker, sample: int) -> None:
        """Note that a sample did not end its worker."""
        self.suspects.discard(sample)
        worker.alone = False

    # Own parts of what does not come.

    def _gone(self, source: int) -> None:
        """Drop own parts whose source will not come."""
        for crew in self._crews.values():
            crew.held.pop(source, None)
            for worker in crew.workers:
                for own in [one for one in worker.busy.values() if isinstance(one, Own)]:
                    if own.source == source and not own.layout:
                        self._dropped(worker, own.sample)
                        self.suspects.discard(own.sample)

    def _let_go(self, sources: Iterable[int]) -> list[int]:
        """Forget own parts that wait for these, and return them: they are told anew.

        If nobody wants them any more, their numbers and slots are soon others'.
        """
        crews = self._crews.values()
        held = (own for crew in crews for source in sources for own in crew.held.pop(source, ()))
        return [own.sample for own in held]

    # Processes come and go.

    def attend(self, ticket: str, here: bool = True) -> None:
        """Note that the nursery of a ticket is here, or has gone, and its workers with it."""
        crew = self._crew(ticket)
        crew.nursery = here
        crew.born.clear()

    def expects(self, ticket: str, number: int) -> bool:
        """Tell whether a worker of this ticket and number is to be born."""
        return ticket in self._crews and number in self._crews[ticket].born

    def arrived(self, ticket: str, number: int, pid: int, now: float) -> int:
        """Take a worker in that has just been born, and return what it is called here."""
        crew = self._crew(ticket)
        crew.born.pop(number, None)
        worker = Worker(next(self._ids), crew, number, pid, now)
        self._workers[worker.id] = worker
        crew.workers.append(worker)
        if crew.ended:
            worker.leaving = True
            self._let_leave(worker)
        return worker.id

    def out_of_reach(self, id: int) -> None:
        """Note that a worker's connection has ended: it gets nothing more."""
        self._workers[id].gone = True

    def unborn(self, ticket: str, reason: str, now: float) -> None:
        """Note that no worker can be born now; they are tried again."""
        self.out.append(Warn(f"a job's nursery cannot bear workers: {reason}"))
        crew = self._crew(ticket)
        crew.born.clear()
        crew.not_before = now + PAUSE_S

    def stillborn(self, ticket: str, number: int, pid: int, now: float) -> None:
        """Note that a worker's process has ended before it came here."""
        crew = self._crew(ticket)
        if crew.born.pop(number, None) is not None:
            self.out.append(Warn(f"worker {pid} ended before it came here"))
            crew.not_before = now + PAUSE_S

    def ended(
        self, id: int, at_work: Sequence[Note], trace: str, code: int | None, now: float
    ) -> None:
        """Say which samples went with a worker that has ended, and whose fault it is."""
        worker = self._workers.pop(id)
        crew = worker.crew
        crew.workers.remove(worker)
        if not worker.done and not at_work and not worker.leaving:
            crew.not_before = now + PAUSE_S
        for sample in [s for s, order in worker.busy.items() if isinstance(order, Compare)]:
            self._compared(worker, sample, same=True)  # nobody knows
        for note in worker.overdue:
            order = worker.busy.get(note.sample)
            if order is not None:
                self._dropped(worker, note.sample)
                self.suspects.discard(note.sample)
                reason = blame.too_long(note, self._limit_s(crew, order), worker.pid, trace)
                self._tell(Failed(note.sample, reason))
                self._gone(note.sample)
        innocent = bool(worker.overdue) or crew.ended or not crew.nursery
        blamed, others = blame.whose_fault(worker.busy, at_work, innocent)
        for sample in list(worker.busy):
            self._dropped(worker, sample)
        self._lose(others, blame.death(code), blamed=False)
        working = [note for note in at_work if note.sample in blamed]
        self._lose(blamed, blame.death(code, working, trace), blamed=True)

    def _lose(self, samples: list[int], reason: str, blamed: bool) -> None:
        if not samples or self._closing:
            return
        gone = [*samples, *self._let_go(samples)]
        if blamed:
            self.suspects.update(gone)
        self.out.append(Warn(f"{len(gone)} samples lost: {reason}"))
        self._tell(Lost(tuple(gone), reason, blamed))

    def _let_leave(self, worker: Worker) -> None:
        if worker.leaving and not worker.busy and not worker.overdue:
            self.out.append(Give(worker.id, [Stop()]))

    # Time passes.

    def look(self, now: float, seen: Mapping[int, Seen]) -> None:
        """Act on what is wrong with workers, and on those that nobody needs."""
        for crew in list(self._crews.values()):
            crew.born = {n: since for n, since in crew.born.items() if now - since < _BIRTH_S}
            for worker in crew.workers:
                if not worker.overdue and worker.id in seen:
                    self._look_at(worker, seen[worker.id], now)
            takes_work = any(not (one.leaving or one.late) for one in crew.workers)
            if not crew.queue or takes_work:
                crew.in_vain = None
            elif crew.in_vain is None:
                crew.in_vain = now
        self._seen.end_look()
        self._relieve(now)
        for ticket in [ticket for ticket, at in self._leave_at.items() if now >= at]:
            del self._leave_at[ticket]
            crew = self._crews.pop(ticket)
            self.out.append(Dismiss(ticket, tuple(worker.id for worker in crew.workers)))
        self.feed(now)

    def _look_at(self, worker: Worker, seen: Seen, now: float) -> None:
        overdue = [
            note
            for note in seen.at_work
            if note.sample in worker.busy
            and now - note.since > self._limit_s(worker.crew, worker.busy[note.sample])
        ]
        again = self._seen.again(worker.id, overdue)
        if again:
            text = f"worker {worker.pid} is killed: {again[0].step} took too long"
            self.out.append(Warn(text))
            worker.leaving = True
            worker.overdue = tuple(again)
            self.out.append(Abandon(worker.id))
        # Also those that are to leave once they have done what they have: others wait for it.
        elif worker.asked_back is not None and now - worker.asked_back > LATE_S:
            self._note_late(worker)
        elif worker.is_stuck(now):
            if worker.asked_back is None:
                worker.asked_back = now
                self.out.append(Give(worker.id, [HandBack()]))
        elif not worker.leaving and (
            self._has_grown(worker, seen.private_bytes)
            or (not worker.busy and now - worker.latest > IDLE_S)
        ):
            worker.leaving = True
            self._let_leave(worker)

    def _note_late(self, worker: Worker) -> None:
        """Have others do what a worker has that does not answer.

        Not once only: who asks for one of its rows later, or had no room for another, waits, too.
        """
        if not worker.late:
            text = f"others do the {len(worker.busy)} samples that it has"
            self.out.append(Warn(f"worker {worker.pid} does not answer; {text}"))
        worker.late = True
        samples = tuple(worker.busy)
        self._let_go(samples)
        self._tell(Late(samples))

    def _has_grown(self, worker: Worker, private_bytes: int) -> bool:
        """Tell whether a worker has grown by more than it may since it had done its first rows."""
        if not worker.done or not private_bytes:
            return False
        worker.bytes_at_first = worker.bytes_at_first or private_bytes
        grown = private_bytes - worker.bytes_at_first
        if grown <= self._most_growth_bytes:
            return False
        text = (
            f"worker {worker.pid} has grown by {grown >> 20} MiB since its first rows (at most "
            f"{self._most_growth_bytes >> 20} are allowed): the dataset keeps more and more; the "
            "worker is replaced"
        )
        self.out.append(Warn(text))
        return True

    def _relieve(self, now: float) -> None:
        """Let others do rows that wait for workers of a job that is stopped, or slow to be born.

        All may wait for one of them: the first sample of a recipe tells how large samples are.
        """
        crews = self._crews.values()
        stalled = [one for one in crews if one.in_vain is not None and now - one.in_vain > STUCK_S]
        for crew in stalled:
            able = [
                one
                for one in crews
                if one.code == crew.code and one.jobs and one.nursery and one not in stalled
            ]
            if able:
                min(able, key=lambda one: len(one.queue)).queue += crew.surrender()

    # Questions.

    def statistics(self) -> tuple[CrewStatistics, ...]:
        """Return who is in each crew, and how much it has to do."""
        return tuple(
            CrewStatistics(
                ticket=crew.ticket[:_SHOWN_LETTERS],
                jobs=tuple(sorted(crew.jobs)),
                workers=tuple(worker.pid for worker in crew.workers),
                lends=crew.lends,
                queued=len(crew.queue) + sum(map(len, crew.held.values())),
                in_hand=sum(len(worker.busy) for worker in crew.workers),
                on_their_way=len(crew.born),
            )
            for crew in self._crews.values()
        )

    def has_workers(self, job: int) -> bool:
        """Tell whether workers are here that can prepare what a job waits for."""
        crew = self._crew_of.get(job)
        able = [one for one in self._crews.values() if crew and one.code == crew.code]
        return crew is None or any(not worker.leaving for one in able for worker in one.workers)

    def whereabouts(self, sample: int, now: float, at_work: Callable[[int], Sequence[Note]]) -> str:
        """Say in words where a sample is; `at_work` says what a worker works on."""
        worker = self._holder.get(sample)
        if worker is not None:
            first = next(iter(worker.busy.values()))
            seconds = now - worker.since[first.sample]
            steps = ", ".join(note.step for note in at_work(worker.id))
            at = f", which is at: {steps}" if steps else ""
            if worker.late:
                at += "; the process does not answer: it is stopped, or hangs since its birth"
            where = f"worker process {worker.pid}"
            if first.sample == sample:
                return f"has been with {where} for {seconds:.1f} s{at}"
            what = "a job's own part" if isinstance(first, Own) else f"row {first.row}"
            return f"waits in {where} behind {what}, there for {seconds:.1f} s{at}"
        for crew in self._crews.values():
            queued = [order.sample for order in crew.queue]
            if sample in queued and not crew.nursery:
                return "waits for the job's worker processes, which have not been born yet"
            if sample in queued:
                pids = ", ".join(str(one.pid) for one in crew.workers) or "none yet"
                ahead = queued.index(sample)
                return f"waits behind {ahead} others for a free worker (processes: {pids})"
            if any(own.sample == sample for held in crew.held.values() for own in held):
                return "waits for the shared part of its sample"
        return "is in no worker's hands"

    def acts_in_s(
        self, sample: int, now: float, at_work: Callable[[int], Sequence[Note]]
    ) -> float | None:
        """Return in how many seconds what a sample waits for is abandoned, if that takes long."""
        holder = self._holder.get(sample)
        workers = [holder] if holder else []
        for crew in self._crews.values() if not holder else ():
            if any(order.sample == sample for order in crew.queue):
                workers = crew.workers
        found = [
            blame.acts_in_s(
                [
                    (note, self._limit_s(worker.crew, worker.busy[note.sample]))
                    for note in at_work(worker.id)
                    if note.sample in worker.busy
                ],
                now,
            )
            for worker in workers
        ]
        return min((seconds for seconds in found if seconds is not None), default=None)

    def _limit_s(self, crew: Crew, order: Order) -> float:
        """Return how long an order may take: the longest any who reads it would wait.

        So an impatient job does not spoil it for another.
        """
        if isinstance(order, Own):
            return self._timeout_s.get(order.job, math.inf)
        jobs = (job for one in self._crews.values() if one.code == crew.code for job in one.jobs)
        return max((self._timeout_s[job] for job in jobs), default=math.inf)

    def _crew(self, ticket: str) -> Crew:
        crew = self._crews.get(ticket)
        if crew is None:
            raise BadMessage("the job that this process belongs to is not here any more")
        return crew

    def _tell(self, event: Event) -> None:
        self.out.append(Tell(event))
