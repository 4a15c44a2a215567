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

from collections.abc import Iterable, Mapping, Sequence
from itertools import count

from msgspec.structs import replace

from joader.errors import BadMessage
from joader.messages import Compare, Drop, Failed, Finish, FromWorker, Place, Prepare
from joader.schedule import blame
from joader.schedule.actions import Action, AskForWorker, Dismiss, Give, Lent, Seen, Warn
from joader.schedule.blame import Note
from joader.schedule.crew import Crew, Worker
from joader.schedule.orders import Order, Own, Row, own_parts_of, rows_of
from joader.schedule.reports import Reports
from joader.schedule.staff import Staff
from joader.schedule.watch import Watch
from joader.statistics import CrewStatistics

# How long the workers of a job that is gone may go on with what others wait for.
GRACE_S = 2.0
# After a worker that ended before it did anything: bearing the next at once would be a busy loop.
PAUSE_S = 1.0
# How much of a ticket others are shown: enough to tell crews apart, too little to come as a worker.
_SHOWN_LETTERS = 8


class Dispatch:
    """All crews of a node, and who of them does what."""

    def __init__(self, cores: int, most_growth_bytes: int) -> None:
        """Start without any; a worker that grows by more than so many bytes is replaced."""
        self.staff = Staff()
        self._reports = Reports(self.staff)
        self._watch = Watch(self.staff, most_growth_bytes)
        self._cores = cores
        self._leave_at: dict[str, float] = {}  # when crews without jobs are dismissed, by ticket
        self._ids = count()

    def decided(self) -> list[Action]:
        """Return what is to be done since this was asked last."""
        said, self.staff.out = self.staff.out, []
        return said

    # Jobs come and go.

    def knows(self, ticket: str) -> bool:
        """Tell whether a crew is here already: what its workers prepare was compared."""
        return ticket in self.staff.crews

    def join(self, job: int, lent: Lent) -> None:
        """Take in what a job brings; passes of one loader have one crew."""
        crew = self.staff.crews.get(lent.ticket)
        if crew is None:
            crew = self.staff.crews[lent.ticket] = Crew(lent.ticket, lent.code)
        elif crew.code != lent.code:
            raise BadMessage("one nursery cannot serve two recipes")
        crew.ended = False
        self._leave_at.pop(lent.ticket, None)
        crew.jobs.add(job)
        crew.most, crew.lends, crew.waits = lent.workers, lent.lends, lent.waits
        self.staff.crew_of[job] = crew
        self.staff.timeout_s[job] = lent.timeout_s

    def leave(self, job: int, now: float) -> None:
        """Let a job go, and say which samples nobody will prepare: their code is gone.

        What its workers have in hand others may wait for: they get a moment for it.
        """
        self.staff.timeout_s.pop(job, None)
        crew = self.staff.crew_of.pop(job, None)
        if crew is None:
            return
        crew.jobs.discard(job)
        if not crew.jobs:
            self._leave_at[crew.ticket] = now + GRACE_S
            self.staff.unread(self.staff.end(crew))

    def renew(self, job: int) -> None:
        """Let a job's workers end when they have done what they have; others are born."""
        if job in self.staff.crew_of:
            for worker in self.staff.crew_of[job].workers:
                worker.leaving = True
                self.staff.let_leave(worker)

    def close(self) -> None:
        """Have all workers end; nobody is to be told any more."""
        self.staff.closing = True
        for crew in self.staff.crews.values():
            self.staff.end(crew)

    # Work in.

    def prepare(self, message: Prepare, code: str) -> None:
        """Have rows prepared, by their job's own crew if it can."""
        crew = self.staff.crew_of.get(message.job)
        if crew is None or crew.code != code:
            able = [one for one in self.staff.crews.values() if one.code == code and one.jobs]
            crew = min(able, key=lambda one: len(one.queue), default=None)
        if crew is None:
            self.staff.unread(message.samples)  # who could has just left
        else:
            crew.queue += rows_of(message)

    def finish(self, message: Finish, now: float) -> None:
        """Have a job's own parts done; they go along with their sources, if those are underway."""
        crew = self.staff.crew_of[message.job]
        for own in own_parts_of(message):
            self.staff.finish(crew, own, now)

    def compare(self, message: Compare) -> None:
        """Have a job's own crew compare a row; the outcome is told once, whatever happens."""
        crew = self.staff.crew_of[message.job]
        self.staff.compares[crew.ticket, message.sample] = message.job
        crew.queue.appendleft(message)  # before all else: its job waits for it

    def place(self, message: Place) -> None:
        """Say where samples go that did not fit; if their worker is ending, `Lost` follows."""
        for sample, offset, size_bytes in zip(
            message.samples, message.offsets, message.sizes, strict=True
        ):
            worker = self.staff.holder.get(sample)
            if worker is not None:
                known = worker.busy[sample]
                assert not isinstance(known, Compare)
                worker.busy[sample] = replace(known, offset=offset, size_bytes=size_bytes)
                worker.unplaced.discard(sample)
                self.staff.out.append(Give(worker.id, [Place((sample,), (offset,), (size_bytes,))]))

    def drop(self, samples: Iterable[int]) -> None:
        """Forget samples that nobody wants any more, and what waits for them."""
        for sample in samples:
            worker = self.staff.holder.get(sample)
            if worker is not None:
                self.staff.out.append(Give(worker.id, [Drop((sample,))]))
                self.staff.dropped(worker, sample)
                self.staff.cleared(worker, sample)
            self.staff.gone(sample)

    # Work out.

    def feed(self, now: float) -> None:
        """Hand out what waits: to the crews it is for, then to those that have nothing to do."""
        waiting = []
        for crew in self.staff.crews.values():
            if crew.queue:
                self._feed(crew, now)
                if crew.queue:
                    waiting.append(crew)
        for crew in waiting:
            group = [one for one in self.staff.crews.values() if one.code == crew.code]
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
                self.staff.give(worker, rows, now)
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
            self.staff.give(worker, rows, now)

    def _plain_rows(self, crew: Crew, by: Crew, most: int) -> list[Order]:
        """Take the next rows of a crew's queue, as long as they are nothing special.

        That is: none is suspect, and nothing is held for them that should go along.
        """
        rows: list[Order] = []
        while crew.queue and len(rows) < most:
            order = crew.queue[0]
            if not isinstance(order, Row) or order.sample in self.staff.suspects:
                break
            if by is crew and order.sample in crew.held:
                break
            rows.append(order)
            crew.queue.popleft()
        return rows

    def _give_next(self, worker: Worker, now: float) -> bool:
        """Hand out the next in the queue; False for a suspect, if the worker has others."""
        crew = worker.crew
        suspect = crew.queue[0].sample in self.staff.suspects
        if suspect and worker.busy:
            return False
        order = crew.queue.popleft()
        worker.alone = suspect
        along: list[Own] = []
        if isinstance(order, Row) and not suspect:
            along = crew.held.pop(order.sample, [])
        self.staff.give(worker, [order, *along], now)
        return True

    def _bear(self, crew: Crew, group: list[Crew], now: float) -> None:
        """Have workers born for what is queued, if the nursery is here."""
        if not crew.nursery or crew.ended or now < crew.not_before:
            return
        free = sum(1 for one in crew.workers if not one.leaving and not one.busy) + len(crew.born)
        wanted = min(self._may_bear(crew, group), len(crew.queue) - free)
        for number in crew.next_numbers(max(0, wanted)):
            crew.born[number] = now
            self.staff.out.append(AskForWorker(crew.ticket, number))

    def _may_bear(self, crew: Crew, group: list[Crew]) -> int:
        """Return how many more workers a crew may have now."""
        codes = len({one.code for one in self.staff.crews.values() if one.jobs})
        most = crew.most or max(1, self._cores // max(1, codes))
        ceiling = max(self._cores, *(one.most for one in group))
        present = sum(one.present for one in group if one.lends or one is crew)
        least = 0 if crew.present else 1
        return min(most - crew.present, max(ceiling - present, least))

    # Processes come and go.

    def attend(self, ticket: str, here: bool = True) -> None:
        """Note that the nursery of a ticket is here, or has gone, and its workers with it."""
        crew = self.staff.crew(ticket)
        crew.nursery = here
        crew.born.clear()

    def expects(self, ticket: str, number: int) -> bool:
        """Tell whether a worker of this ticket and number is to be born."""
        return ticket in self.staff.crews and number in self.staff.crews[ticket].born

    def arrived(self, ticket: str, number: int, pid: int, now: float) -> int:
        """Take a worker in that has just been born, and return what it is called here."""
        crew = self.staff.crew(ticket)
        crew.born.pop(number, None)
        worker = Worker(next(self._ids), crew, number, pid, now)
        self.staff.workers[worker.id] = worker
        crew.workers.append(worker)
        if crew.ended:
            worker.leaving = True
            self.staff.let_leave(worker)
        return worker.id

    def out_of_reach(self, id: int) -> None:
        """Note that a worker's connection has ended: it gets nothing more."""
        self.staff.workers[id].gone = True

    def unborn(self, ticket: str, reason: str, now: float) -> None:
        """Note that no worker can be born now; they are tried again."""
        self.staff.out.append(Warn(f"a job's nursery cannot bear workers: {reason}"))
        crew = self.staff.crew(ticket)
        crew.born.clear()
        crew.not_before = now + PAUSE_S

    def stillborn(self, ticket: str, number: int, pid: int, now: float) -> None:
        """Note that a worker's process has ended before it came here."""
        crew = self.staff.crew(ticket)
        if crew.born.pop(number, None) is not None:
            self.staff.out.append(Warn(f"worker {pid} ended before it came here"))
            crew.not_before = now + PAUSE_S

    def ended(
        self, id: int, at_work: Sequence[Note], trace: str, code: int | None, now: float
    ) -> None:
        """Say which samples went with a worker that has ended, and whose fault it is."""
        worker = self.staff.workers.pop(id)
        crew = worker.crew
        crew.workers.remove(worker)
        if not worker.done and not at_work and not worker.leaving:
            crew.not_before = now + PAUSE_S
        for sample in [s for s, order in worker.busy.items() if isinstance(order, Compare)]:
            self.staff.compared(worker, sample, same=True)  # nobody knows
        for note in worker.overdue:
            order = worker.busy.get(note.sample)
            if order is not None:
                self.staff.dropped(worker, note.sample)
                self.staff.suspects.discard(note.sample)
                reason = blame.too_long(note, self.staff.limit_s(crew, order), worker.pid, trace)
                self.staff.tell(Failed(note.sample, reason))
                self.staff.gone(note.sample)
        innocent = bool(worker.overdue) or crew.ended or not crew.nursery
        blamed, others = blame.whose_fault(worker.busy, at_work, innocent)
        for sample in list(worker.busy):
            self.staff.dropped(worker, sample)
        self.staff.lose(others, blame.death(code), blamed=False)
        working = [note for note in at_work if note.sample in blamed]
        self.staff.lose(blamed, blame.death(code, working, trace), blamed=True)

    def reported(self, id: int, messages: Iterable[FromWorker], now: float) -> None:
        """Take in what a worker has said; BadMessage if it cannot be."""
        worker = self.staff.workers[id]
        self._reports.take(worker, messages, now)
        self._feed(worker.crew, now)

    # Time passes.

    def look(self, now: float, seen: Mapping[int, Seen]) -> None:
        """Act on what is wrong with workers, and on those that nobody needs."""
        self._watch.look(now, seen)
        for ticket in [ticket for ticket, at in self._leave_at.items() if now >= at]:
            del self._leave_at[ticket]
            crew = self.staff.crews.pop(ticket)
            workers = tuple(worker.id for worker in crew.workers)
            self.staff.out.append(Dismiss(ticket, workers))
        self.feed(now)

    # Figures and questions.

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
            for crew in self.staff.crews.values()
        )

    def has_workers(self, job: int) -> bool:
        """Tell whether workers are here that can prepare what a job waits for."""
        crew = self.staff.crew_of.get(job)
        able = [one for one in self.staff.crews.values() if crew and one.code == crew.code]
        return crew is None or any(not worker.leaving for one in able for worker in one.workers)
