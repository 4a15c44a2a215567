"""Who is here and who has what: the crews, their workers, and which of them has which sample.

The one place where that is changed; `dispatch`, `reports` and `watch` decide, and come here to do.
"""

import math
from collections.abc import Iterable, Sequence

from joader.errors import BadMessage
from joader.messages import Compare, Compared, Event, Lost, Stop
from joader.schedule.actions import Action, Give, Tell, Warn
from joader.schedule.crew import Crew, Worker
from joader.schedule.orders import Order, Own, messages_of

_NOBODY = "nobody reads it any more"


class Staff:
    """All crews of a node."""

    def __init__(self) -> None:
        """Start without any."""
        self.out: list[Action] = []
        self.suspects: set[int] = set()  # samples that may have ended a worker
        self.crews: dict[str, Crew] = {}  # by ticket
        self.crew_of: dict[int, Crew] = {}  # by job
        self.timeout_s: dict[int, float] = {}  # by job
        self.workers: dict[int, Worker] = {}
        self.holder: dict[int, Worker] = {}  # by sample; comparisons are nobody's
        self.compares: dict[tuple[str, int], int] = {}  # by ticket and sample: for which job
        self.closing = False

    def crew(self, ticket: str) -> Crew:
        """Return the crew of a ticket."""
        crew = self.crews.get(ticket)
        if crew is None:
            raise BadMessage("the job that this process belongs to is not here any more")
        return crew

    def tell(self, event: Event) -> None:
        """Have the engine told."""
        self.out.append(Tell(event))

    def limit_s(self, crew: Crew, order: Order) -> float:
        """Return how long an order may take: the longest any who reads it would wait.

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
        for order in orders:
            worker.busy[order.sample] = order
            worker.since[order.sample] = now
            if not isinstance(order, Compare):
                self.holder[order.sample] = worker
        self.out.append(Give(worker.id, messages_of(orders)))

    def dropped(self, worker: Worker, sample: int) -> Order | None:
        """Note that a worker has a sample no more; return what it was to do."""
        order = worker.drop(sample)
        if self.holder.get(sample) is worker:
            del self.holder[sample]
        return order

    def cleared(self, worker: Worker, sample: int) -> None:
        """Note that a sample did not end its worker."""
        self.suspects.discard(sample)
        worker.alone = False

    def finish(self, crew: Crew, own: Own, now: float) -> None:
        """Have an own part done by a crew: with its source, or once that is ready."""
        if own.layout:
            crew.queue.append(own)
            return
        worker = self.holder.get(own.source)
        if worker is not None and worker.crew is crew and not worker.alone and not worker.late:
            self.give(worker, [own], now)
        else:
            crew.held.setdefault(own.source, []).append(own)

    def compared(self, worker: Worker, sample: int, same: bool) -> None:
        """Say how a comparison came out, once."""
        if not isinstance(worker.busy.get(sample), Compare):
            return
        worker.drop(sample)
        job = self.compares.pop((worker.crew.ticket, sample), None)
        if job is not None:
            self.tell(Compared(job, sample, same))

    # Own parts of what does not come.

    def gone(self, source: int) -> None:
        """Drop own parts whose source will not come."""
        for crew in self.crews.values():
            crew.held.pop(source, None)
            for worker in crew.workers:
                for own in [one for one in worker.busy.values() if isinstance(one, Own)]:
                    if own.source == source and not own.layout:
                        self.dropped(worker, own.sample)
                        self.suspects.discard(own.sample)

    def let_go(self, sources: Iterable[int]) -> list[int]:
        """Forget own parts that wait for these, and return them: they are told anew.

        If nobody wants them any more, their numbers and slots are soon others'.
        """
        crews = self.crews.values()
        held = (own for crew in crews for source in sources for own in crew.held.pop(source, ()))
        return [own.sample for own in held]

    # What nobody has any more.

    def lose(self, samples: list[int], reason: str, blamed: bool) -> None:
        """Say which samples went with a worker; those that are blamed are suspect."""
        if not samples or self.closing:
            return
        gone = [*samples, *self.let_go(samples)]
        if blamed:
            self.suspects.update(gone)
        self.out.append(Warn(f"{len(gone)} samples lost: {reason}"))
        self.tell(Lost(tuple(gone), reason, blamed))

    def unread(self, samples: Sequence[int]) -> None:
        """Say which samples nobody will prepare: the code is gone."""
        # If another job waits for one of them, that job's code will do.
        if samples and not self.closing:
            own = self.let_go(samples)
            self.tell(Lost((*samples, *own), _NOBODY, blamed=False))

    # Ends.

    def let_leave(self, worker: Worker) -> None:
        """Tell a worker to end that is to, and has nothing in hand."""
        if worker.leaving and not worker.busy and not worker.overdue:
            self.out.append(Give(worker.id, [Stop()]))

    def end(self, crew: Crew) -> list[int]:
        """Have a crew's workers end; return the samples that none of them has."""
        crew.ended = True
        gone = [order.sample for order in crew.queue if not isinstance(order, Compare)]
        gone += [own.sample for held in crew.held.values() for own in held]
        self.suspects.difference_update(gone)
        crew.queue.clear()
        crew.held.clear()
        for worker in crew.workers:
            worker.leaving = True
            self.let_leave(worker)
        return gone
