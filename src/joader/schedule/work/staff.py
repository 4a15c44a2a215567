"""The crews, their workers, and which of them has which sample.

The one place where that is changed; `dispatch`, `reports` and `watch` decide, and come here to do.
"""

import math
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from joader.errors import BadMessage
from joader.messages import Compare, Compared, Event, Lost, Stop
from joader.schedule.limits.crowd import Crowd
from joader.schedule.limits.knee import Knee
from joader.schedule.limits.storage_knee import StorageKnee
from joader.schedule.work.accounts import Accounts
from joader.schedule.work.actions import Action, Give, Tell, Warn
from joader.schedule.work.crew import Crew, Worker
from joader.schedule.work.orders import InHand, Order, Own, Raw, Row, messages_of

_NOBODY = "no job reads it any more"


class Staff:
    """All crews of a node."""

    def __init__(self, processors: int = 1) -> None:
        """Start without crews, on a machine of `processors`."""
        self.out: list[Action] = []
        self.accounts = Accounts()
        self.knee = Knee()
        self.crowd = Crowd(processors)
        self.storages: dict[str, StorageKnee] = {}  # by code, of rows that wait most of the time
        self.suspects: set[int] = set()  # samples that may have ended a worker
        self.crews: dict[str, Crew] = {}  # by ticket
        self.crew_of: dict[int, Crew] = {}  # by job
        self.timeout_s: dict[int, float] = {}  # by job
        self.workers: dict[int, Worker] = {}
        self.holder: dict[int, Worker] = {}  # by sample; not for comparisons
        # Own parts by the source they wait for, which no worker of their crew has, or which they
        # do not go along with.
        self.held: dict[int, list[tuple[Crew, Own]]] = {}
        self.compares: dict[tuple[str, int], int] = {}  # by ticket and sample: for which job
        self.closing = False

    def crew(self, ticket: str) -> Crew:
        """Return the crew of a ticket."""
        crew = self.crews.get(ticket)
        if crew is None:
            raise BadMessage("the job that this process belongs to is not here any more")
        return crew

    def crew_for(self, job: int, code: str, whole: bool) -> Crew | None:
        """Return the crew that prepares a job's rows: its own, or another if that cannot.

        Another, too, if its own has a worker that does not answer: if the job is stopped, none of
        them will, and a row that comes again for that reason would wait there for good. Only its
        own can do rows `whole`, because no other code has the own part.
        """
        own = self.crew_of.get(job)
        able = own is not None and own.code == code
        if whole or (able and own is not None and not own.late):
            return own if able else None
        crews = [one for one in self.crews.values() if one.code == code and one.jobs]
        return min(crews, key=lambda one: (one.late, len(one.queue)), default=None)

    @property
    def running(self) -> float:
        """How many processors all workers keep busy that have something in hand."""
        return sum(crew.running for crew in self.crews.values())

    def in_flight(self, code: str) -> int:
        """Return how many rows of a recipe may be under way to their storage now."""
        return sum(crew.in_flight for crew in self.crews.values() if crew.code == code)

    def most_in_flight(self, code: str) -> int:
        """Return how many rows of a recipe may be under way at a time; 0: there is no limit."""
        limit = self.storages[code].limit if code in self.storages else math.inf
        return int(limit) if math.isfinite(limit) else 0

    @property
    def at_work(self) -> int:
        """How many workers have something to do."""
        return sum(len(crew.at_work) for crew in self.crews.values())

    def tell(self, event: Event) -> None:
        """Have the engine told."""
        self.out.append(Tell(event))

    def limit_s(self, crew: Crew, order: InHand) -> float:
        """Return how long an order may take: the longest timeout of the jobs that read it.

        So an impatient job does not spoil it for another.
        """
        if isinstance(order, Own):
            return self.timeout_s.get(order.job, math.inf)
        jobs = (job for one in self.crews.values() if one.code == crew.code for job in one.jobs)
        return max((self.timeout_s[job] for job in jobs), default=math.inf)

    # What a worker has in hand.

    def give(self, worker: Worker, orders: Sequence[Order], now: float) -> None:
        """Hand orders out."""
        if not worker.busy:
            worker.latest = now
        busy, holder = worker.busy, self.holder
        for order in orders:
            busy[order.sample] = order
            if isinstance(order, Row):
                holder[order.sample] = worker
                worker.whole += order.whole
            elif isinstance(order, Own):
                holder[order.sample] = worker
                worker.own += 1
        worker.crew.note_room(worker)
        self.out.append(Give(worker.id, messages_of(orders, worker.at_once)))

    def keep_raw(self, worker: Worker, order: Row) -> None:
        """Note that a worker has the raw form of a row that it has prepared, too."""
        worker.busy[order.raw] = Raw(order.job, order.raw, order.row)
        worker.unplaced.add(order.raw)
        self.holder[order.raw] = worker

    def dropped(self, worker: Worker, sample: int) -> InHand | None:
        """Note that a sample has left a worker's hands; return the order for it.

        The caller lets the crew note its room afterwards.
        """
        order = worker.drop(sample)
        if self.holder.get(sample) is worker:
            del self.holder[sample]
        return order

    def cleared(self, worker: Worker, sample: int) -> None:
        """Note that a sample did not end its worker."""
        self.suspects.discard(sample)
        worker.alone = False

    # What waits.

    def queue_rows(self, crew: Crew, rows: list[Row]) -> None:
        """Have rows of one message wait for a crew; suspects apart."""
        if rows and rows[0].whole:
            for row in rows:
                self.queue_own(crew, row)
            return
        if self.suspects:
            crew.queue.alone += [row for row in rows if row.sample in self.suspects]
            rows = [row for row in rows if row.sample not in self.suspects]
        crew.queue.add_rows(rows, at_work=bool(crew.at_work))

    def queue_own(self, crew: Crew, own: Own | Row) -> None:
        """Have an own part, or a row with its own part, wait for a crew; a suspect apart."""
        if own.sample in self.suspects:
            crew.queue.alone.append(own)
        else:
            crew.queue.add_own(own, at_work=bool(crew.at_work))

    def put_back(self, crew: Crew, orders: Iterable[Order]) -> None:
        """Have orders wait before all others, in their order."""
        rest: list[Row | Own] = []
        for order in orders:
            if isinstance(order, Compare):
                crew.queue.compares.append(order)
            elif order.sample in self.suspects:
                crew.queue.alone.append(order)
            else:
                rest.append(order)
        crew.queue.put_back(rest)

    def finish(self, crew: Crew, own: Own, now: float) -> None:
        """Have an own part done by a crew: with its source, or once that is ready."""
        if own.layout:
            self.queue_own(crew, own)
            return
        worker = self.holder.get(own.source)
        if (
            worker is None
            or worker.crew is not crew
            or worker.alone
            or worker.late
            or crew.queue.own_pace.heavy
        ):
            self.held.setdefault(own.source, []).append((crew, own))
        else:
            crew.queue.of(own).charge(1)
            self.give(worker, [own], now)

    def take_along(self, crew: Crew, sources: Iterable[int]) -> list[Own]:
        """Take and charge what a crew's worker does along with these rows."""
        found: list[Own] = []
        for source in sources:
            held = self.held.pop(source, None)
            if held is not None:
                found += [own for one, own in held if one is crew]
                others = [(one, own) for one, own in held if one is not crew]
                if others:
                    self.held[source] = others
        for own in found:
            crew.queue.of(own).charge(1)
        return found

    def source_is_ready(self, source: int, offset: int, layout: bytes) -> None:
        """Queue the own parts whose source is in its slot now."""
        for crew, own in self.held.pop(source, ()):
            self.queue_own(crew, replace(own, source_offset=offset, layout=layout))

    def held_by(self, crew: Crew) -> int:
        """Return how many own parts of a crew are held for their sources."""
        return sum(one is crew for held in self.held.values() for one, _ in held)

    def compared(self, worker: Worker, sample: int, same: bool) -> None:
        """Say how a comparison came out, once."""
        if not isinstance(worker.busy.get(sample), Compare):
            return
        worker.drop(sample)
        job = self.compares.pop((worker.crew.ticket, sample), None)
        if job is not None:
            self.tell(Compared(job, sample, same))

    # Own parts of what does not come.

    def gone(self, source: int, worker: Worker | None) -> None:
        """Drop own parts whose source will not come; `worker` had it, if any."""
        self.held.pop(source, None)
        if worker is None or not worker.own:
            return
        for own in [one for one in worker.busy.values() if isinstance(one, Own)]:
            if own.source == source and not own.layout:
                self.dropped(worker, own.sample)
                self.suspects.discard(own.sample)

    def let_go(self, sources: Iterable[int]) -> list[int]:
        """Forget own parts that wait for these, and return them: the engine sends them again.

        If no job wants them any more, their numbers and slots soon belong to others.
        """
        return [own.sample for source in sources for _, own in self.held.pop(source, ())]

    # Samples that no worker has any more.

    def lose(self, samples: list[int], reason: str, blamed: bool, expected: bool = False) -> None:
        """Say which samples went with a worker; those that are blamed are suspect.

        `expected`: it was told to end, so no warning is needed.
        """
        if not samples or self.closing:
            return
        gone = [*samples, *self.let_go(samples)]
        if blamed:
            self.suspects.update(gone)
        if not expected:
            self.out.append(Warn(f"{len(gone)} samples lost: {reason}"))
        self.tell(Lost(tuple(gone), reason, blamed))

    def unread(self, samples: Sequence[int]) -> None:
        """Say which samples will not be prepared: their code is gone."""
        # If another job waits for one of them, that job's code will do.
        if samples and not self.closing:
            own = self.let_go(samples)
            self.tell(Lost((*samples, *own), _NOBODY, blamed=False))

    # Ends.

    def let_leave(self, worker: Worker) -> None:
        """Tell a retired worker to end once it has nothing in hand."""
        if worker.leaving and not worker.busy and not worker.overdue:
            self.out.append(Give(worker.id, [Stop()]))

    def retire(self, worker: Worker) -> None:
        """Give a worker nothing more; it ends when it has nothing in hand."""
        worker.leaving = True
        worker.crew.note_room(worker)
        self.let_leave(worker)

    def end(self, crew: Crew) -> list[int]:
        """Have a crew's workers end; return the samples that none of them has."""
        crew.ended = True
        gone = [order.sample for order in crew.queue if not isinstance(order, Compare)]
        for source, held in list(self.held.items()):
            gone += [own.sample for one, own in held if one is crew]
            others = [(one, own) for one, own in held if one is not crew]
            if others:
                self.held[source] = others
            else:
                del self.held[source]
        self.suspects.difference_update(gone)
        crew.queue.clear()
        for worker in crew.workers:
            self.retire(worker)
        return gone
