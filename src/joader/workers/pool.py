"""The pool: all workers that jobs have brought, and who of them prepares what.

A row goes to the crew of the job that needs it first. A crew that has nothing of its own to do
helps others with equal code (fingerprint and place), unless its loader keeps its workers to itself.
Own parts are done by the job's own crew: nobody else has the code. No code is here at all.

Workers are born as they are needed: of all crews with equal code together no more than the machine
has cores, or the most that one of them lends, and of each at least one.
Not here: what one crew does with its rows (crew.py).
"""

import asyncio
import os
import select
from collections.abc import Callable, Sequence
from contextlib import suppress

from joader.errors import BadMessage
from joader.messages import Check, Cook, Cooked, CookedEach, Finish, PutAt, Spoiled
from joader.workers.crew import Crew
from joader.workers.desk import Desk
from joader.workers.hand import Hand, Order, Report
from joader.workers.link import NurseryLink

# How long the workers of a job that is gone may go on with what others wait for.
GRACE_S = 2.0
_END_S = 1.0
# How often workers are looked at: for what takes too long, and for what they keep in memory.
WATCH_S = 0.5

Limit = Callable[[str, int | None], float]


class Pool:
    """All workers that serve the daemon."""

    def __init__(
        self,
        size: int,
        on_report: Callable[[Report | CookedEach], None],
        on_lost: Callable[[tuple[int, ...], str, bool], None],
        on_late: Callable[[tuple[int, ...]], None],
        on_checked: Callable[[int, int, bool], None],
        limit_of: Limit,
        worker_growth_bytes: int = 0,
    ) -> None:
        """Start without any; `size` is how many processes the machine can keep busy.

        `limit_of` says how many seconds a row of a recipe, or an own part of a job, may take. A
        worker that grows by more than `worker_growth_bytes` is replaced; 0: see `usual_growth`.
        """
        self._size = size
        self._on_report = on_report
        self._on_lost = on_lost
        self._on_late = on_late
        self._on_checked = on_checked
        self._checks: dict[tuple[str, int], int] = {}  # by ticket and sample: for which job
        self._limit_of = limit_of
        self._growth_bytes = worker_growth_bytes or usual_growth(size)
        self._closing = False
        self._watching: asyncio.TimerHandle | None = None
        self._crews: dict[str, Crew] = {}  # by ticket
        self._crew_of: dict[int, Crew] = {}  # by job
        self.suspects: set[int] = set()

    def processes(self) -> list[int]:
        """Return the worker processes."""
        return [hand.pid for crew in self._crews.values() for hand in crew.hands]

    def has_workers(self, job: int) -> bool:
        """Tell whether workers are here that can prepare what a job waits for."""
        crew = self._crew_of.get(job)
        able = [one for one in self._crews.values() if crew and one.code == crew.code]
        return crew is None or any(not hand.leaving for one in able for hand in one.hands)

    # Who comes and goes.

    def join(
        self, job: int, ticket: str, code: str, workers: int, lends: bool, *, waits: bool = False
    ) -> None:
        """Take the crew in that a job brings; passes of one loader have one crew."""
        crew = self._crews.get(ticket)
        if crew is None:
            crew = self._crews[ticket] = Crew(self, ticket, code, self._limit, self._growth_bytes)
        elif crew.code != code:
            raise BadMessage("one nursery cannot serve two recipes")
        crew.ended = False
        crew.jobs.add(job)
        crew.most, crew.lends, crew.waits = workers, lends, waits
        self._crew_of[job] = crew
        if self._watching is None:
            self._watch()

    def leave(self, job: int, pid: int) -> tuple[int, ...]:
        """Let a job go; return the samples that were to be done for it and that no worker has.

        What its workers have in hand others may wait for: they get a moment for it.
        """
        crew = self._crew_of.pop(job, None)
        if crew is None:
            return ()
        crew.jobs.discard(job)
        if crew.jobs:
            return ()
        gone = crew.end()
        asyncio.get_running_loop().call_later(GRACE_S, self._dismiss, crew, pid)
        return tuple(gone)

    def _dismiss(self, crew: Crew, pid: int) -> None:
        """End what is left of a crew, unless its loader has come back."""
        if not crew.ended or self._closing:
            return
        if self._crews.get(crew.ticket) is crew:
            del self._crews[crew.ticket]
        for hand in list(crew.hands):
            hand.kill()
        if crew.nursery is not None:
            # A nursery that was stopped cannot see that its job is gone.
            (crew.nursery.kill if _is_gone(pid) else crew.nursery.close)()

    def renew(self, job: int) -> None:
        """Let a job's workers end when they have done what they have; others are born."""
        if job in self._crew_of:
            self._crew_of[job].renew()

    def attend(self, ticket: str, pid: int) -> NurseryLink:
        """Return the link for a nursery that has come."""
        return NurseryLink(self._crew_with(ticket), pid)

    def arrive(self, ticket: str, number: int, pid: int, desk: Desk) -> Hand:
        """Return the hand for a worker that has come."""
        return Hand(self._crew_with(ticket), number, pid, desk)

    def expects(self, ticket: str, number: int) -> bool:
        """Tell whether a worker of this ticket and number is to be born."""
        crew = self._crews.get(ticket)
        return crew is not None and crew.expects(number)

    def _crew_with(self, ticket: str) -> Crew:
        crew = self._crews.get(ticket)
        if crew is None:
            raise BadMessage("the job that this process belongs to is not here any more")
        return crew

    # Work in.

    def cook(self, order: Cook, code: str, job: int) -> bool:
        """Have a row prepared, by the job's own crew if it can; False if nobody can."""
        crew = self._crew_of.get(job)
        if crew is None or crew.code != code:
            able = [one for one in self._crews.values() if one.code == code and one.jobs]
            crew = min(able, key=lambda one: len(one.queue), default=None)
        if crew is None:
            return False
        crew.cook(order)
        return True

    def finish(self, order: Finish) -> None:
        """Have a job's own part done."""
        self._crew_of[order.job].finish(order)

    def check(self, job: int, order: Check) -> None:
        """Have a job's own crew compare a row; the outcome is told once, whatever happens."""
        crew = self._crew_of[job]
        self._checks[crew.ticket, order.sample] = job
        crew.check(order)

    def checked(self, crew: Crew, sample: int, same: bool) -> None:
        """Pass the outcome of a comparison on."""
        job = self._checks.pop((crew.ticket, sample), None)
        if job is not None:
            self._on_checked(job, sample, same)

    def is_known(self, ticket: str) -> bool:
        """Tell whether a crew is here already: what its workers prepare was compared."""
        return ticket in self._crews

    def feed(self) -> None:
        """Hand out what has come: to the crews it is for, then to those that have nothing to do."""
        waiting = []
        for crew in self._crews.values():
            if crew.queue:
                crew.feed()
                if crew.queue:
                    waiting.append(crew)
        for crew in waiting:
            group = [one for one in self._crews.values() if one.code == crew.code]
            for other in group:
                if other is not crew and other.lends and other.jobs and not other.queue:
                    other.feed(crew.queue)
            if crew.queue:
                crew.bear(self._may_bear(crew, group))

    def _may_bear(self, crew: Crew, group: list[Crew]) -> int:
        """Return how many more workers a crew may have now."""
        codes = len({one.code for one in self._crews.values() if one.jobs})
        most = crew.most or max(1, self._size // max(1, codes))
        ceiling = max(self._size, *(one.most for one in group))
        present = sum(one.present for one in group if one.lends or one is crew)
        least = 0 if crew.present else 1
        return min(most - crew.present, max(ceiling - present, least))

    def put_at(self, order: PutAt) -> None:
        """Tell the worker that has the sample where to put it."""
        for crew in self._crews.values():
            crew.put_at(order)

    def drop(self, sample: int) -> None:
        """Tell the worker that has a sample for which there is no room to forget it."""
        self.put_at(PutAt(sample, -1, 0))
        for crew in self._crews.values():
            crew.drop(sample)

    def whereabouts(self, sample: int) -> str:
        """Say in words where a sample is."""
        found = (crew.whereabouts(sample) for crew in self._crews.values())
        return next((text for text in found if text), "is in no worker's hands")

    def acts_in_s(self, sample: int) -> float | None:
        """Return in how many seconds what a sample waits for is given up, if that takes long."""
        found = (crew.acts_in_s(sample) for crew in self._crews.values())
        return next((seconds for seconds in found if seconds is not None), None)

    async def close(self) -> None:
        """Have all workers end: ask, then kill. Nurseries are their jobs', and stay."""
        self._closing = True
        if self._watching is not None:
            self._watching.cancel()
        crews = list(self._crews.values())
        for crew in crews:
            crew.end()
        for _ in range(20):
            if not any(crew.hands for crew in crews):
                break
            await asyncio.sleep(_END_S / 20)
        for crew in crews:
            for hand in list(crew.hands):
                hand.kill()
            if crew.nursery is not None:
                crew.nursery.close()

    # What crews report.

    def reported(self, message: Report | CookedEach, offsets: Sequence[int]) -> None:
        """Pass a report on, and let own parts that waited for it go on."""
        self._on_report(message)
        for crew in self._crews.values():
            if isinstance(message, Cooked):
                crew.ready(message.sample, offsets[0], message.layout)
            elif isinstance(message, CookedEach):
                if crew.holds_own_parts:
                    for sample, offset in zip(message.samples, offsets, strict=True):
                        crew.ready(sample, offset, message.layout)
            elif isinstance(message, Spoiled):
                crew.gone(message.sample)

    def lost(self, samples: tuple[int, ...], reason: str, blamed: bool) -> None:
        """Pass on what went with a worker, and own parts of it that waited, in whichever crew."""
        if not self._closing:
            own = self.let_go(samples)
            self.suspects.update(own if blamed else ())
            self._on_lost((*samples, *own), reason, blamed)

    def let_go(self, sources: Sequence[int]) -> list[int]:
        """Forget own parts that wait for these, and return them.

        If nobody wants them any more, their numbers and slots are soon others'.
        """
        crews = self._crews.values()
        return [own for crew in crews for source in sources for own in crew.let_go(source)]

    def late(self, samples: tuple[int, ...]) -> None:
        """Pass on what a worker has that does not answer."""
        self.let_go(samples)
        self._on_late(samples)

    def taken_back(self, crew: Crew, orders: list[Order]) -> None:
        """Queue what a worker has not begun again, with the crew that was to do it."""
        if crew.ended:
            self.lost(tuple(order.sample for order in orders), "its job has left", blamed=False)
            return
        crew.take_back(orders)
        self.feed()

    def _limit(self, crew: Crew, order: Order) -> float:
        return self._limit_of(crew.code, order.job if isinstance(order, Finish) else None)

    def _watch(self) -> None:
        """Look at all workers, now and again and again."""
        self._watching = asyncio.get_running_loop().call_later(WATCH_S, self._watch)
        for crew in list(self._crews.values()):
            crew.watch()
        self._relieve()

    def _relieve(self) -> None:
        """Let others do rows that wait for workers of a job that is stopped, or slow to be born.

        All may wait for one of them: the first sample of a recipe tells how large samples are.
        """
        stalled = [crew for crew in self._crews.values() if crew.waits_in_vain]
        for crew in stalled:
            able = [
                one
                for one in self._crews.values()
                if one.code == crew.code and one.jobs and one.nursery and one not in stalled
            ]
            if able:
                other = min(able, key=lambda one: len(one.queue))
                for order in crew.surrender():
                    other.cook(order)
        if stalled:
            self.feed()


def usual_growth(workers: int) -> int:
    """Return how much a worker may grow after its first rows: its share of half the memory."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return memory // 2 // workers


def _is_gone(pid: int) -> bool:
    """Tell whether a process has ended, also if nobody has reaped it yet."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    except OSError:  # of another pid namespace
        return False
    try:
        return bool(select.select([descriptor], [], [], 0)[0])
    finally:
        with suppress(OSError):
            os.close(descriptor)
