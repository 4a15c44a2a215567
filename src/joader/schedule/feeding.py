"""Which worker gets the next chunk, and when workers are born.

A row goes to the crew of the job that needs it first. A crew that has nothing of its own to do
helps others with equal code (fingerprint and place), unless its loader keeps its workers to itself.
Own parts are done by the job's own crew: nobody else has the code. Light ones go along with their
rows; heavy ones wait for their turn, so that nobody who wants the rows waits for them, too.

A worker gets a chunk when it has half of one left: so it never waits for the daemon, and what comes
next never waits long for a worker. When little waits, all who take more get equal parts of it.

Workers are born when something waits and none has room: of all crews with equal code together no
more than the machine has cores, or the most that one of them lends, and of each at least one.

Not here: whose orders come next (claims.py), how many make a chunk (pace.py).
"""

from joader.schedule.actions import AskForWorker
from joader.schedule.crew import Crew, Worker
from joader.schedule.orders import Order
from joader.schedule.pace import chunk_of
from joader.schedule.staff import Staff


class Feeding:
    """Hands out what waits, for a staff."""

    def __init__(self, staff: Staff, cores: int) -> None:
        """Change this staff, on a machine of so many cores."""
        self._staff, self._cores = staff, cores
        # Tickets of crews that may have no more workers, until somebody comes or goes: most of the
        # time something waits and all are there, and counting them in each turn is dear.
        self._full: set[str] = set()

    def staff_changed(self) -> None:
        """Note that somebody has come or gone: others may be born now."""
        self._full.clear()

    def feed(self, now: float) -> None:
        """Hand out what waits: to the crews it is for, then to those that have nothing to do."""
        crews = self._staff.crews.values()
        waiting = [crew for crew in crews if crew.queue and self._feed(crew, now)]
        if not waiting:
            return
        helpers = [one for one in crews if one.idle and one.lends and one.jobs and not one.queue]
        for crew in waiting:
            for other in helpers:
                if other.code == crew.code and crew.queue.shared.queue:
                    self._help(other, crew, now)
            if crew.ticket not in self._full and crew.queue:
                self._bear(crew, now)

    def _feed(self, crew: Crew, now: float) -> bool:
        """Hand out what is queued to those of a crew with the least in hand; tell if some is left.

        Nobody waits for a chunk to be full: if less is queued than all could take, each gets a
        part. Others have nothing to do either, or are about to be born.
        """
        while worker := crew.next_worker(now):
            waiting = len(crew.queue)
            share = -(-waiting // (len(crew.idle) + len(crew.short) + len(crew.born)))
            if not self._give_next(worker, share, now):
                return True
            if not crew.queue:
                return False
        return True

    def _give_next(self, worker: Worker, share: int, now: float) -> bool:
        """Hand out the next chunk in the queue; False for a suspect, if the worker has others."""
        crew, claims = worker.crew, worker.crew.queue
        if claims.compares:
            self._staff.give(worker, [claims.compares.popleft()], now)
            return True
        if claims.alone:
            if worker.busy:
                return False
            worker.alone = True
            self._staff.give(worker, [claims.alone.popleft()], now)
            return True
        claim = claims.next(crew.reads_alone)
        assert claim is not None
        most = claim.pace.chunk
        if worker.busy:  # it can wait for more: crumbs for each would cost more than they give
            share = max(share, most // 2)
        along = (
            claim is claims.shared
            and not claims.own_pace.heavy
            and claim.queue[0].sample in self._staff.held
        )
        if along:
            most = chunk_of(claim.pace.row_s + claims.own_pace.row_s)
        orders: list[Order] = [*claim.take(max(1, min(most, share)))]
        if along:
            orders += self._staff.take_along(crew, [order.sample for order in orders])
        self._staff.give(worker, orders, now)
        return True

    def _help(self, crew: Crew, other: Crew, now: float) -> None:
        """Hand out what another crew has queued to those of a crew that have nothing to do."""
        rows = other.queue.shared
        while crew.idle and rows.queue:
            share = -(-len(rows.queue) // len(crew.idle))
            most = crew.queue.shared.pace.chunk
            self._staff.give(next(iter(crew.idle)), rows.take(max(1, min(most, share))), now)

    # Births.

    def _bear(self, crew: Crew, now: float) -> None:
        """Have workers born for what is queued, if the nursery is here."""
        if not crew.nursery or crew.ended or now < crew.not_before:
            return
        may = self._may_bear(crew)
        if may <= 0:
            self._full.add(crew.ticket)
            return
        free = len(crew.idle) + len(crew.born)
        for number in crew.next_numbers(max(0, min(may, len(crew.queue) - free))):
            crew.born[number] = now
            self._staff.out.append(AskForWorker(crew.ticket, number))

    def _may_bear(self, crew: Crew) -> int:
        """Return how many more workers a crew may have now."""
        crews = self._staff.crews.values()
        codes = len({one.code for one in crews if one.jobs})
        group = [one for one in crews if one.code == crew.code]
        most = crew.most or max(1, self._cores // max(1, codes))
        ceiling = max(self._cores, *(one.most for one in group))
        present = sum(one.present for one in group if one.lends or one is crew)
        least = 0 if crew.present else 1
        return min(most - crew.present, max(ceiling - present, least))
