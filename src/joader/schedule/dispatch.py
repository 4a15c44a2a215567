"""The schedule's only door: events about jobs, work and workers come in, actions come out.

Values in, values out: `out` collects actions, and the caller carries them out. Nothing here knows a
clock, a process or a socket. `Homes` says where the workers of each job run, and how many
processors that is: workers have the affinity and the cgroup of their job, not of the daemon; a job
that does not say where it runs, runs where the daemon does.

Not here: who gets which rows and when workers are started (feeding.py), what follows from reports
(reports.py) and from time (watch.py, where workers that were idle for IDLE_S end), which row is to
blame for a worker's death (blame.py).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import count

from msgspec.structs import replace

from joader.errors import BadArgument, BadMessage
from joader.messages import Compare, Drop, Failed, Finish, FromWorker, Place, Prepare
from joader.schedule.feeding import Feeding
from joader.schedule.learning import Learning
from joader.schedule.limits.pace import KEEPS, KEEPS_READING_AHEAD
from joader.schedule.shares.allocation import Allocation
from joader.schedule.shares.policies import policy_of
from joader.schedule.shares.weight import checked_weight
from joader.schedule.work import blame
from joader.schedule.work.accounts import Quota
from joader.schedule.work.actions import Action, Dismiss, Give, Lent, Seen, Warn
from joader.schedule.work.blame import Note
from joader.schedule.work.claims import Claims
from joader.schedule.work.crew import Crew, Worker
from joader.schedule.work.flow import Home, capacity, home_of
from joader.schedule.work.orders import own_parts_of, rows_of
from joader.schedule.work.reports import Reports
from joader.schedule.work.staff import Staff
from joader.schedule.work.watch import Watch
from joader.statistics import CrewStatistics, ReadStatistics, ScheduleStatistics

# How long the workers of a job that is gone may go on with what others wait for.
GRACE_S = 2.0
# After a worker that ended before it did anything: starting the next at once would be a busy loop.
PAUSE_S = 1.0
NOTHING_READ: Mapping[int, ReadStatistics] = {}


class Dispatch:
    """All crews of a node and their work."""

    def __init__(self, cores: int, most_growth_bytes: int, most_cores: int = 0) -> None:
        """Start without crews; a worker that grows by more than `most_growth_bytes` is replaced.

        `cores` is how many workers can be kept busy where the daemon runs. Jobs may run elsewhere,
        on other cores of a machine that has `most_cores`; 0: `cores` is all that they may use.
        """
        self.staff = Staff(cores)
        self._reports = Reports(self.staff)
        self._watch = Watch(self.staff, most_growth_bytes)
        self.allocation = Allocation(self.staff)
        self.learning = Learning(self.staff, self.allocation)
        self._feeding = Feeding(self.staff, cores, self.allocation.demands)
        self._homes = Homes(cores, most_cores)
        self._cpu = 1.0
        self._own_cpu_s = 0.0
        self._leave_at: dict[str, float] = {}  # when crews without jobs are dismissed, by ticket
        self._slots: dict[int, list[tuple[int, int, int]]] = {}  # not said yet, by worker
        self._ids = count()

    def decided(self) -> list[Action]:
        """Return the actions since the last call."""
        self._say_places()
        said, self.staff.out = self.staff.out, []
        return said

    # Jobs come and go.

    def knows(self, ticket: str) -> bool:
        """Tell whether a crew is here already: what its workers prepare was compared."""
        return ticket in self.staff.crews

    def join(self, job: int, lent: Lent) -> None:
        """Take in what a job brings; passes of one loader have one crew."""
        checked_weight(lent.settings.weight)  # first: of a job that is refused nothing may be left
        crew = self.staff.crews.get(lent.ticket)
        if crew is None:
            claims = Claims(self.staff.accounts, lent.code)
            crew = self.staff.crews[lent.ticket] = Crew(lent.ticket, lent.code, claims)
            self.learning.recall(claims, lent.code)
        elif crew.code != lent.code:
            raise BadMessage("one nursery cannot serve two recipes")
        crew.ended = False
        self._leave_at.pop(lent.ticket, None)
        crew.jobs.add(job)
        crew.most, crew.lends = lent.workers, lent.settings.lend
        crew.home, crew.reads_ahead = lent.home, lent.waits
        crew.queue.shared.pace.keep(KEEPS_READING_AHEAD if lent.waits else KEEPS)
        self.staff.crew_of[job] = crew
        self.staff.timeout_s[job] = lent.settings.timeout_s
        self.allocation.join(job, lent.settings, lent.team)
        self.learning.join(job, lent)
        self._homes.join(lent.ticket, lent.home, lent.cores)
        self._company_changed()

    def leave(self, job: int, now: float) -> None:
        """Remove a job, and say which samples will not be prepared: their code is gone.

        Other jobs may wait for what its workers have in hand: they get GRACE_S for it.
        """
        self.staff.timeout_s.pop(job, None)
        self.learning.leave(job)
        self.allocation.leave(job)
        crew = self.staff.crew_of.pop(job, None)
        if crew is None:
            return
        crew.jobs.discard(job)
        crew.queue.forget(job)
        self._company_changed()
        if not crew.jobs:
            self._leave_at[crew.ticket] = now + GRACE_S
            self.staff.unread(self.staff.end(crew))

    def renew(self, job: int) -> None:
        """Replace a job's workers, each when it has done what it has in hand."""
        if job in self.staff.crew_of:
            for worker in self.staff.crew_of[job].workers:
                self.staff.retire(worker)
            self._feeding.staff_changed()

    def _company_changed(self) -> None:
        """Note which crews read a recipe alone, and where, now that a job has come or gone."""
        self._feeding.staff_changed()
        self._feeding.bounds = self._homes.bounds
        crews = self.staff.crews.values()
        readers = Counter(crew.code for crew in crews if crew.jobs)
        for crew in crews:
            crew.reads_alone = readers[crew.code] <= 1

    def close(self) -> None:
        """End all workers; the engine is not told any more."""
        self.staff.closing = True
        for crew in self.staff.crews.values():
            self.staff.end(crew)

    # Work in.

    def prepare(self, message: Prepare, code: str) -> None:
        """Have rows prepared, by their job's own crew if it can."""
        crew = self.staff.crew_for(message.job, code, whole=message.whole)
        if crew is None:
            self.staff.unread(message.samples)  # the only crew with this code has just left
        else:
            self.staff.queue_rows(crew, rows_of(message))

    def finish(self, message: Finish, now: float) -> None:
        """Have a job's own parts done; they go along with their sources, if those are underway."""
        crew = self.staff.crew_of[message.job]
        for own in own_parts_of(message):
            self.staff.finish(crew, own, now)

    def compare(self, message: Compare) -> None:
        """Have a job's own crew compare a row; the outcome is reported once, whatever happens."""
        crew = self.staff.crew_of[message.job]
        self.staff.compares[crew.ticket, message.sample] = message.job
        crew.queue.compares.append(message)

    def place(self, message: Place) -> None:
        """Say where samples without a slot go; if their worker is ending, `Lost` follows."""
        had: dict[Worker, None] = {}
        for sample, offset, size_bytes in zip(
            message.samples, message.offsets, message.sizes, strict=True
        ):
            worker = self.staff.holder.get(sample)
            if worker is not None:
                known = worker.busy[sample]
                assert not isinstance(known, Compare)
                worker.busy[sample] = replace(known, offset=offset, size_bytes=size_bytes)
                worker.unplaced.discard(sample)
                had[worker] = None
                self._slots.setdefault(worker.id, []).append((sample, offset, size_bytes))
        for worker in had:
            worker.crew.note_room(worker)  # it may have waited for this alone

    def _say_places(self) -> None:
        """Tell each worker all its places of this turn at once: it reports them together, too."""
        for id, slots in self._slots.items():
            self.staff.out.append(Give(id, [Place(*zip(*slots, strict=True))]))
        self._slots.clear()

    def drop(self, samples: Iterable[int]) -> None:
        """Forget samples that no job wants any more, and what waits for them."""
        self._say_places()  # a worker must hear of a place before the drop
        for sample in samples:
            worker = self.staff.holder.get(sample)
            if worker is not None:
                self.staff.out.append(Give(worker.id, [Drop((sample,))]))
                self.staff.dropped(worker, sample)
                self.staff.cleared(worker, sample)
            self.staff.gone(sample, worker)
            if worker is not None:
                worker.crew.note_room(worker)

    def brought(self, sample: int, offset: int, layout: bytes) -> None:
        """Note that a sample came without a worker (from another node): own parts may wait."""
        if sample in self.staff.held:
            self.staff.source_is_ready(sample, offset, layout)

    # Work out.

    def feed(self, now: float) -> None:
        """Hand out what waits."""
        self._feeding.feed(now)

    @property
    def feeds_in_s(self) -> float:
        """In how many seconds more may be handed out without an event; 0: not without one."""
        waits = any(crew.queue for crew in self.staff.crews.values())
        return self.staff.accounts.opens_in_s if waits else 0.0

    # Shares.

    def wanted(self, job: int, count: int, step_s: float, wait_s: float, now: float) -> None:
        """Note that a job asks for a batch, and how long it took and waited for its last."""
        demand = self.allocation.demands.get(job)
        if demand is not None:
            comes = demand.recalled and not demand.reads(now)
            demand.wanted(count, step_s, wait_s, now)
            if comes:  # its needs are known from before: no need to wait for the next look
                self._divide(now)

    def set_policy(self, name: str, now: float) -> None:
        """Divide the workers' time by another policy from now on; BadArgument if there is none."""
        self.allocation.policy = policy_of(name)
        self._divide(now)
        self.staff.accounts.forgive()

    def set_weight(self, job: int, weight: float, now: float) -> None:
        """Set a job's weight; BadArgument if it is invalid or the job brings no workers."""
        weight = checked_weight(weight)
        demand = self.allocation.demands.get(job)
        if demand is None:
            raise BadArgument(f"job {job} brings no workers, so it has no weight")
        demand.weight = weight
        self._divide(now)
        self.staff.accounts.forgive()

    def set_ceiling(self, part: float, now: float) -> None:
        """Let workers and daemon use no more than this part of the cores."""
        self._cpu = part
        self.staff.accounts.ceiling = Quota(self._homes.cores * part, now) if part < 1.0 else None
        self._divide(now)

    def _divide(self, now: float) -> None:
        cores = self._homes.cores
        self.staff.crowd.processors = cores
        processors = min(float(self.staff.knee.knee(cores)), cores * self._cpu)
        # One worker can always run: a ceiling below one is kept by its quota.
        self._feeding.active = max(1.0, processors)
        # A ceiling is set so that other programs get the rest.
        self._feeding.beside_others = self.staff.crowd.others if self._cpu == 1.0 else 0.0
        self.allocation.work_out(processors, now, self._homes.places)

    # Processes come and go.

    def attend(self, ticket: str, here: bool = True) -> None:
        """Note that the nursery of a ticket is here, or has gone, and its workers with it.

        A nursery that has just come has no workers yet: those that are here were started by the one
        before.
        """
        crew = self.staff.crew(ticket)
        crew.nursery = here
        for worker in crew.workers:
            worker.orphan = True
            self.staff.retire(worker)
        crew.born.clear()
        self._feeding.staff_changed()

    def expects(self, ticket: str, number: int) -> bool:
        """Tell whether a worker of this ticket and number was asked for and has not come."""
        return ticket in self.staff.crews and number in self.staff.crews[ticket].born

    def arrived(self, ticket: str, number: int, pid: int, now: float) -> int:
        """Add a worker that was just started; return its id."""
        crew = self.staff.crew(ticket)
        crew.born.pop(number, None)
        worker = Worker(next(self._ids), crew, number, pid, now)
        self.staff.workers[worker.id] = worker
        crew.workers.append(worker)
        crew.note_room(worker)
        if crew.ended:
            self.staff.retire(worker)
        self._feeding.staff_changed()
        return worker.id

    def out_of_reach(self, id: int) -> None:
        """Note that a worker's connection has ended: it gets nothing more."""
        worker = self.staff.workers[id]
        worker.gone = True
        worker.crew.note_room(worker)

    def unborn(self, ticket: str, reason: str, now: float) -> None:
        """Note that a nursery cannot start workers now; it is asked again later."""
        self.staff.out.append(Warn(f"a job's nursery cannot start workers: {reason}"))
        crew = self.staff.crew(ticket)
        crew.born.clear()
        crew.not_before = now + PAUSE_S
        self._feeding.staff_changed()

    def stillborn(self, ticket: str, number: int, pid: int, now: float) -> None:
        """Note that a worker's process has ended before it came here."""
        crew = self.staff.crew(ticket)
        if crew.born.pop(number, None) is not None:
            self.staff.out.append(Warn(f"worker {pid} ended before it came here"))
            crew.not_before = now + PAUSE_S
            self._feeding.staff_changed()

    def ended(
        self, id: int, at_work: Sequence[Note], trace: str, code: int | None, now: float
    ) -> None:
        """Say which samples went with a worker that has ended, and which are to blame."""
        worker = self.staff.workers.pop(id)
        crew = worker.crew
        crew.workers.remove(worker)
        worker.gone = True
        crew.note_room(worker)
        self._feeding.staff_changed()
        if not worker.done and not at_work and not worker.leaving:
            crew.not_before = now + PAUSE_S
        for sample in [s for s, order in worker.busy.items() if isinstance(order, Compare)]:
            self.staff.compared(worker, sample, same=True)  # not known
        for note in worker.overdue:
            order = worker.busy.get(note.sample)
            if order is not None:
                self.staff.dropped(worker, note.sample)
                self.staff.suspects.discard(note.sample)
                reason = blame.too_long(note, self.staff.limit_s(crew, order), worker.pid, trace)
                self.staff.tell(Failed(note.sample, reason))
                self.staff.gone(note.sample, worker)
        expected = crew.ended or worker.orphan
        innocent = bool(worker.overdue) or expected
        blamed, others = blame.whose_fault(worker.busy, at_work, innocent)
        for sample in list(worker.busy):
            self.staff.dropped(worker, sample)
        self.staff.lose(others, blame.death(code), blamed=False, expected=expected)
        working = [note for note in at_work if note.sample in blamed]
        self.staff.lose(blamed, blame.death(code, working, trace), blamed=True)

    def reported(self, id: int, messages: Iterable[FromWorker], now: float) -> None:
        """Take in a worker's messages; BadMessage if they make no sense. `feed` gives it more."""
        worker = self.staff.workers[id]
        self._reports.take(worker, messages, now)

    # Time passes.

    def in_doubt(self, id: int, now: float) -> bool:
        """Tell whether a worker has not answered for a while: look at its pulse."""
        worker = self.staff.workers[id]
        return worker.asked_back is not None or worker.is_stuck(now)

    def look(
        self,
        now: float,
        seen: Mapping[int, Seen],
        read: Mapping[int, ReadStatistics] = NOTHING_READ,
        own_cpu_s: float = 0.0,
    ) -> None:
        """Act on workers that are slow, late, idle or growing; divide the workers' time.

        `read`: what jobs have got so far; `own_cpu_s`: what this process has computed so far, which
        counts against the ceiling, too.
        """
        if self.staff.accounts.ceiling is not None:
            self.staff.accounts.ceiling.take(own_cpu_s - self._own_cpu_s)
        self._own_cpu_s = own_cpu_s
        self.allocation.count(read, now)
        self._watch.look(now, seen)
        self._feeding.staff_changed()
        for ticket in [ticket for ticket, at in self._leave_at.items() if now >= at]:
            del self._leave_at[ticket]
            crew = self.staff.crews.pop(ticket)
            self._homes.leave(ticket)
            self._feeding.bounds = self._homes.bounds
            workers = tuple(worker.id for worker in crew.workers)
            self.staff.out.append(Dismiss(ticket, workers))
            self.allocation.forget_gone()
        self._divide(now)
        self.feed(now)

    # Figures and questions.

    def schedule(self) -> ScheduleStatistics:
        """Return what the policy divides, and how."""
        return ScheduleStatistics(
            policy=self.allocation.policy.name,
            cores=self._homes.cores,
            cpu=self._cpu,
            active=self._feeding.active,
            knee=self.staff.knee.knee(self._homes.cores),
            computing=self.staff.running,
        )

    def statistics(self) -> tuple[CrewStatistics, ...]:
        """Return the workers of each crew, how much it has to do, and how long rows take it."""
        return crew_figures(self.staff)

    def has_workers(self, job: int) -> bool:
        """Tell whether workers are here that can prepare what a job waits for."""
        crew = self.staff.crew_of.get(job)
        able = [one for one in self.staff.crews.values() if crew and one.code == crew.code]
        return crew is None or any(not worker.leaving for one in able for worker in one.workers)


class Homes:
    """Where the workers of each crew run; all homes together bound `cores`."""

    def __init__(self, own_cores: int, most_cores: int) -> None:
        """Start with the daemon's own cores, on a machine that has `most_cores`."""
        self._own_cores, self._most_cores = own_cores, max(own_cores, most_cores)
        self._of: dict[str, tuple[str, int]] = {}
        self.places: dict[str, Home] = {}
        self.cores = own_cores  # that workers in all homes together can keep busy

    def join(self, ticket: str, name: str, cores: int) -> None:
        """Note where a crew's workers run."""
        self._of[ticket] = (name, cores or self._own_cores)
        self._changed()

    def leave(self, ticket: str) -> None:
        """Forget a crew."""
        if self._of.pop(ticket, None) is not None:
            self._changed()

    @property
    def bounds(self) -> Mapping[str, float]:
        """How many processors each home may use; empty if there is only one home."""
        if len(self.places) < 2:
            return {}
        return {name: home.bound for name, home in self.places.items()}

    def _changed(self) -> None:
        self.places = {name: home_of(name, cores) for name, cores in self._of.values()}
        there = round(capacity(self.places)) if self.places else 0
        self.cores = min(self._most_cores, max(self._own_cores, there))


# How much of a ticket others are shown: enough to tell crews apart, too little to come as a worker.
_SHOWN_LETTERS = 8


def crew_figures(staff: Staff) -> tuple[CrewStatistics, ...]:
    """Return the figures of all crews."""
    crews = staff.crews.values()
    paces = {crew.code: crew.queue.shared.pace for crew in crews}
    # A crew whose rows others prepare has no pace of its own; theirs is as good.
    paces |= {crew.code: crew.queue.shared.pace for crew in crews if crew.paced}
    return tuple(
        CrewStatistics(
            ticket=crew.ticket[:_SHOWN_LETTERS],
            jobs=tuple(sorted(crew.jobs)),
            workers=tuple(worker.pid for worker in crew.workers),
            lends=crew.lends,
            queued=len(crew.queue) + staff.held_by(crew),
            in_hand=sum(len(worker.busy) for worker in crew.workers),
            on_their_way=len(crew.born),
            most=crew.most,
            reads_ahead=crew.reads_ahead,
            computing=crew.queue.computing,
            row_ms=1000 * crew.queue.shared.pace.computing_s,
            row_s=paces[crew.code].known_s,
            computing_s=paces[crew.code].parts_s[0],
            storage_s=paces[crew.code].parts_s[1],
            core_s=paces[crew.code].parts_s[2],
            own_row_s=crew.queue.own_pace.known_s,
            in_flight=crew.in_flight,
            in_flight_most=staff.most_in_flight(crew.code),
        )
        for crew in crews
    )
