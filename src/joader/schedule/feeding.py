"""Which claimant of the node has the next turn, which worker gets its chunk, when workers start.

A row goes to the crew of the job that needs it first. A crew that has nothing of its own to do
helps others with equal code (fingerprint and place), unless its loader keeps its workers to itself.
Own parts are done by the job's own crew: no other has the code. Light ones go along with their
rows; heavy ones wait for their turn, so that jobs that want the rows do not wait for them, too.

A worker gets a chunk when it has three quarters of one left: so it never waits for the daemon, and
what comes next never waits long for a worker. When little waits, all who can begin get equal parts.

Turns. *Lent* are the workers that jobs have brought; *active* are those that are at work now, at
most as many as keep the node's processors busy (`active`). While there are fewer, every claimant
with waiting orders gets workers. From then on a chunk goes out when a worker will soon be done with
its last, and goes to the claimant furthest below its share, regardless of which job brought that
worker: another worker begins, and the first one stops when it is done. A claimant that has had more
for its share than those at work waits until a processor is free: their next orders may be in
transit. So shares are kept whatever number of workers each job has brought, and changing them takes
one chunk.

Workers that wait for a disk or a network keep no processor busy, and count for the part of their
time in which they compute. Those whose rows were never timed do not count, nor those that have not
reported for a while. While only one recipe is read, so that there is nothing to divide, more of its
workers run next to programs that are not joader's (crowd.py): torch's would, too.

If jobs run on processors of their own, or under a quota of their own (flow.py), no more workers are
at work there than that home has processors, whichever claimant they work for.

A worker is started if orders wait and no worker has room, and a processor is free or the crew's
turn would come before those of others. All crews with equal code together get no more than the
machine has cores, or than one of them lends, and each gets at least one. A crew whose own parts
pile up may have more until they no longer do, because no other crew can do them.

Not here: what each has had (accounts.py), whose orders come next in one crew (claims.py), how many
make a chunk (pace.py).
"""

from collections.abc import Mapping
from math import ceil, inf
from typing import NamedTuple

from joader.schedule.limits.pace import CHUNK_S, chunk_of
from joader.schedule.shares.demand import Demand
from joader.schedule.stages import MOST_AHEAD, Stages
from joader.schedule.work.actions import AskForWorker
from joader.schedule.work.crew import Crew, Worker
from joader.schedule.work.orders import Order, Row
from joader.schedule.work.staff import Staff

# Comparisons and suspects go before all turns: jobs wait for each of them.
_AT_ONCE = -1.0
# Own parts pile up if this much work waits for each worker but the first.
_PILE_S = 2 * CHUNK_S
NO_DEMANDS: Mapping[int, Demand] = {}


class Turn(NamedTuple):
    """A turn that a crew could have: what its claimant has had, and the worker to do it."""

    spent_s: float
    crew: Crew
    worker: Worker


class Load(NamedTuple):
    """What workers do now: processors they keep busy for a while, and all that they keep busy.

    `most_spent_s`: the largest account of the claimants at work.
    """

    computing: float
    running: float
    most_spent_s: float


class Feeding:
    """Hands out what waits, for a staff."""

    def __init__(
        self, staff: Staff, cores: int, demands: Mapping[int, Demand] = NO_DEMANDS
    ) -> None:
        """Hand out work to `staff` on `cores` cores; `demands` is keyed by job."""
        self._staff, self._cores = staff, cores
        self.active = float(cores)  # how many processors workers may keep busy
        self.bounds: Mapping[str, float] = {}  # how many of them by home, if there are several
        self.beside_others = 0.0  # how many more may run next to foreign programs
        self._limit = self.active
        self._stages = Stages(staff, cores, demands)
        # Tickets of crews that may have no more workers, until the staff changes: most of the time
        # orders wait and all workers are here, and counting them on every turn is expensive.
        self._full: set[str] = set()

    def staff_changed(self) -> None:
        """Note that a worker or job has come or gone: other workers may be started now."""
        self._full.clear()

    def feed(self, now: float) -> None:
        """Hand out what waits, turn by turn, and have workers started for the rest."""
        self._hand_out(now)
        self._stages.pass_time(now)

    def _hand_out(self, now: float) -> None:
        crews = self._staff.crews.values()
        waiting = [crew for crew in crews if crew.queue]
        if not waiting:
            return
        self._staff.accounts.pass_time(now)
        codes = {crew.code for crew in crews if crew.queue or crew.at_work}
        self._limit = self.active + (self.beside_others if len(codes) == 1 else 0.0)
        while waiting:
            load = self._load()
            turns = [turn for crew in waiting if (turn := self._turn(crew, load, now))]
            if not turns:
                break
            turn = turns[0] if len(turns) == 1 else min(turns, key=_spent)
            if turn.worker.crew is turn.crew:
                self._give_next(turn.worker, load, now)
            else:
                self._help(turn.worker, turn.crew, load, now)
            if not turn.crew.queue:
                waiting.remove(turn.crew)
        for crew in waiting:
            if crew.ticket not in self._full:
                self._bear(crew, now)

    def _turn(self, crew: Crew, load: Load, now: float) -> Turn | None:
        """Return the turn that a crew would take next, if it may and has a worker for it."""
        claims = crew.queue
        if claims.compares or claims.alone:
            worker = crew.next_worker(now)
            # A suspect waits for a worker without anything else in hand, and all else behind it.
            suits = worker and (claims.compares or not worker.busy)
            return Turn(_AT_ONCE, crew, worker) if worker and suits else None
        claim = claims.next(crew.reads_alone)
        if claim is None:
            return None
        fits, free = self._processors(crew, load)
        if not fits and not self.bounds:
            return None
        # All processors are busy, and one will not be for long: its worker goes on, if it can.
        busy = not free
        room = inf
        if isinstance(claim.queue[0], Row) and not crew.reads_ahead:
            room = self._stages.room(crew)
        found = crew.next_worker(now, busy_first=busy or room <= 0.0) if fits else None
        if found is None and claim is claims.shared:
            found = self._helper(crew, load)
        if found is not None and room <= 0.0 and (room < 0.0 or not found.busy):
            return None  # the storage has enough to do; a worker that has just read may read on
        spent_s = claims.spent_s(claim)
        if found is None or (busy and not found.busy and spent_s > load.most_spent_s):
            return None
        return Turn(spent_s, crew, found)

    def _processors(self, crew: Crew, load: Load) -> tuple[bool, bool]:
        """Tell whether one more worker of a crew has a processor, and whether that is free now.

        Or most of what it needs of one, half of it: a worker that computes nearly all the time
        would leave a little of each processor, and two of them must not have a third between them.
        """
        half = crew.queue.computing / 2
        fits, free = load.computing + half <= self._limit, load.running + half <= self._limit
        if fits and self.bounds:
            here, bound = self._load(crew.home), self.bounds.get(crew.home, inf)
            fits = here.computing + half <= bound
            free = free and here.running + half <= bound
        return fits, free

    def _load(self, home: str | None = None) -> Load:
        """Return what workers do now, everywhere or in one home."""
        computing = running = most_spent_s = 0.0
        for crew in self._staff.crews.values():
            if crew.at_work and (home is None or crew.home == home):
                one = crew.queue.computing
                computing += len(crew.full) * one
                running += len(crew.at_work) * one
                most_spent_s = max(most_spent_s, crew.queue.most_spent_s)
        return Load(computing, running, most_spent_s)

    def _helper(self, crew: Crew, load: Load) -> Worker | None:
        """Return a worker of another crew that can do a crew's rows, and has nothing to do."""
        for other in self._staff.crews.values():
            able = other.code == crew.code and other is not crew and other.lends and other.jobs
            if able and other.idle and not other.queue and self._has_processor(other, load):
                return next(iter(other.idle))
        return None

    def _has_processor(self, crew: Crew, load: Load) -> bool:
        """Tell whether a crew's home has room for one more at work; always, with one home."""
        return not self.bounds or self._processors(crew, load)[0]

    def _give_next(self, worker: Worker, load: Load, now: float) -> None:
        """Hand out the next chunk in the queue of a worker's crew.

        No worker waits for a chunk to be full: if less is queued than all could take, each gets a
        part. Other workers have nothing to do either, or are about to start.
        """
        crew, claims = worker.crew, worker.crew.queue
        if claims.compares:
            self._staff.give(worker, [claims.compares.popleft()], now)
            return
        if claims.alone:
            worker.alone = True
            self._staff.give(worker, [claims.alone.popleft()], now)
            return
        claim = claims.next(crew.reads_alone)
        assert claim is not None
        most = claims.chunk_of(claim)
        beginners = self._beginners(crew, len(crew.idle) + len(crew.born), load)
        share = -(-len(claims) // (len(crew.short) + beginners))
        if worker.busy:  # it can wait for more: crumbs for each would cost more than they give
            share = max(share, most // 2)
        if crew.reads_ahead:
            most = min(most, MOST_AHEAD)
        along = (
            claim is claims.shared
            and not claims.own_pace.heavy
            and claim.queue[0].sample in self._staff.held
        )
        if along:
            most = chunk_of(claim.pace.row_s + claims.own_pace.row_s)
        orders: list[Order] = [*claims.take(claim, max(1, min(most, share)))]
        if along:
            orders += self._staff.take_along(crew, [order.sample for order in orders])
        self._staff.give(worker, orders, now)

    def _beginners(self, crew: Crew, waiting: int, load: Load) -> int:
        """Return how many of a crew's workers without work could begin at a time, 1 at least."""
        free = (self._limit - load.running) / (crew.queue.computing or 1.0)
        return max(1, min(waiting, ceil(free)))

    def _help(self, worker: Worker, crew: Crew, load: Load, now: float) -> None:
        """Hand out what a crew has queued to a worker of another that has nothing to do."""
        rows, helper = crew.queue.shared, worker.crew
        share = -(-len(rows.queue) // self._beginners(helper, len(helper.idle), load))
        most = helper.queue.shared.pace.chunk
        self._staff.give(worker, rows.take(max(1, min(most, share))), now)

    # Births.

    def _bear(self, crew: Crew, now: float) -> None:
        """Ask for workers for what is queued, if the nursery is here."""
        if not crew.nursery or crew.ended or now < crew.not_before:
            return
        if crew.present and not self._gets_processor(crew):
            return  # there is work for more workers, and no processor for them
        if crew.present and not crew.reads_ahead and self._stages.room(crew) <= len(crew.born):
            return  # … and their storage has enough to do
        may = self._may_bear(crew)
        if may <= 0:
            self._full.add(crew.ticket)
            return
        free = len(crew.idle) + len(crew.born)
        for number in crew.next_numbers(max(0, min(may, len(crew.queue) - free))):
            crew.born[number] = now
            self._staff.out.append(AskForWorker(crew.ticket, number))

    def _gets_processor(self, crew: Crew) -> bool:
        """Tell whether one more worker of a crew would be at work: at once, or as others are done.

        Those would be owed less than it; but while it has workers that take more, they are next.
        """
        load, claim = self._load(), crew.queue.next(crew.reads_alone)
        if claim is None or self._processors(crew, load)[0]:
            return claim is not None
        owed = crew.queue.spent_s(claim) < load.most_spent_s
        return owed and not (crew.idle or crew.short or crew.born)

    def _may_bear(self, crew: Crew) -> int:
        """Return how many more workers a crew may have now."""
        crews = self._staff.crews.values()
        codes = len({one.code for one in crews if one.jobs})
        group = [one for one in crews if one.code == crew.code]
        # A crew whose rows were never timed begins with its share; others get all that is left.
        first = max(1, self._cores // max(1, codes))
        most = crew.most or (self._cores if crew.queue.computing else first)
        ceiling = max(self._cores, *(one.most for one in group))
        present = sum(one.present for one in group if one.lends or one is crew)
        needed = 1 + int(crew.queue.own_backlog_s / _PILE_S)
        return min(most, max(ceiling - present + crew.present, needed)) - crew.present


def _spent(turn: Turn) -> float:
    return turn.spent_s
