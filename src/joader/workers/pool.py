"""The pool of all workers that jobs have brought: it carries out what `schedule/` decides.

The daemon holds no user code: workers are forked from the jobs that have it. Everything runs on the
daemon's event loop; the clock is read here and passed to the decisions. Not here: how work is
divided and which sample is blamed for a death (schedule/dispatch.py), one process (hand.py), one
nursery (link.py).
"""

import asyncio
import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from joader.messages import Bear, Compare, Event, Finish, FromWorker, Place, Prepare, Slay
from joader.schedule.dispatch import Dispatch
from joader.schedule.work import actions, whereabouts
from joader.schedule.work.actions import (
    Abandon,
    AskForWorker,
    Dismiss,
    Give,
    Lent,
    Seen,
    Tell,
    Warn,
)
from joader.schedule.work.blame import Note
from joader.statistics import PoolStatistics, ReadStatistics
from joader.wire import readable
from joader.workers.desk import Desk
from joader.workers.hand import Hand
from joader.workers.link import NurseryLink

_END_S = 1.0
# How often workers are checked for rows that take too long and for memory growth.
WATCH_S = 0.5

log = logging.getLogger("joader.daemon")


class Pool:
    """All workers that serve the daemon."""

    def __init__(
        self,
        cores: int,
        on_event: Callable[[Event], None],
        worker_growth_bytes: int = 0,
        read: Callable[[], Mapping[int, ReadStatistics]] = dict,
        most_cores: int = 0,
    ) -> None:
        """Start without workers; `cores` is how many processes the machine can keep busy.

        A worker that grows by more than `worker_growth_bytes` is replaced; 0: see `usual_growth`.
        `read` returns what jobs have received so far; `most_cores` is how many cores the machine
        has for jobs that run elsewhere on it, 0 if `cores` is all that may be used.
        """
        self._read = read
        self.dispatch = Dispatch(cores, worker_growth_bytes or usual_growth(cores), most_cores)
        self._on_event = on_event
        self._hands: dict[int, Hand] = {}  # by their number in `dispatch`
        self._links: dict[str, NurseryLink] = {}  # by ticket
        self._job_pid: dict[str, int] = {}  # by ticket
        self._acting = False
        self._feeds_soon = False  # at the end of this turn of the loop
        self._watching: asyncio.TimerHandle | None = None
        self._refill: asyncio.TimerHandle | None = None

    def statistics(self) -> PoolStatistics:
        """Return which processes there are, and how much work each crew has."""
        return PoolStatistics(
            processes=tuple(hand.pid for hand in self._hands.values()),
            crews=self.dispatch.statistics(),
            schedule=self.dispatch.schedule(),
            shares=self.dispatch.allocation.statistics(time.monotonic()),
            cpu_s={hand.pid: hand.cpu_s() for hand in self._hands.values()},
        )

    # Who gets how much.

    def wanted(self, job: int, count: int, step_s: float, wait_s: float) -> None:
        """Note that a job asks for a batch, how long its last step took, and how long it waited."""
        self.dispatch.wanted(job, count, step_s, wait_s, time.monotonic())

    def change(self, policy: str = "", cpu: float = 0.0, job: int = 0, weight: float = 0.0) -> None:
        """Change the policy, CPU ceiling or a job's weight; raise BadArgument if invalid."""
        now = time.monotonic()
        if policy:
            self.dispatch.set_policy(policy, now)
        if cpu:
            self.dispatch.set_ceiling(cpu, now)
        if weight:
            self.dispatch.set_weight(job, weight, now)
        self.feed()

    # Jobs come and go.

    def join(self, job: int, pid: int, lent: Lent) -> None:
        """Take in the workers that a job's process lends."""
        self.dispatch.join(job, lent)
        self._job_pid[lent.ticket] = pid
        if self._watching is None:
            self._watch()

    def leave(self, job: int) -> None:
        """Remove a job; its workers get a moment to finish what others wait for."""
        self.dispatch.leave(job, time.monotonic())
        self._act()

    def renew(self, job: int) -> None:
        """Replace a job's workers as soon as each has finished its work."""
        self.dispatch.renew(job)
        self._act()

    # Work in.

    def prepare(self, message: Prepare, code: str) -> None:
        """Queue rows to prepare; `feed` hands them out."""
        self.dispatch.prepare(message, code)

    def finish(self, message: Finish) -> None:
        """Queue a job's own parts; `feed` hands them out."""
        self.dispatch.finish(message, time.monotonic())

    def compare(self, message: Compare) -> None:
        """Have a job's own workers compare a row."""
        self.dispatch.compare(message)

    def place(self, message: Place) -> None:
        """Pass on the new slots of samples that did not fit their first."""
        self.dispatch.place(message)

    def drop(self, samples: Sequence[int]) -> None:
        """Forget samples that no job wants any more."""
        self.dispatch.drop(samples)

    def brought(self, sample: int, offset: int, layout: bytes) -> None:
        """Note that another node has brought a sample."""
        self.dispatch.brought(sample, offset, layout)

    def feed(self) -> None:
        """Hand out queued work as far as workers have room for it now."""
        self._feeds_soon = False
        self.dispatch.feed(time.monotonic())
        self._act()
        self._feed_when_allowed()

    def _feed_when_allowed(self) -> None:
        """If a quota is used up, feed again once it allows more."""
        in_s = self.dispatch.feeds_in_s
        if in_s and self._refill is None:
            self._refill = asyncio.get_running_loop().call_later(in_s, self._feed_again)

    def _feed_again(self) -> None:
        """Hand out more, now that a quota allows it."""
        self._refill = None
        self.feed()

    # Processes come and go.

    def attend(self, ticket: str, pid: int) -> NurseryLink:
        """Return the protocol for a nursery that connects."""
        self.dispatch.staff.crew(ticket)  # raises BadMessage if its job is gone
        return NurseryLink(self, ticket, pid)

    def attended(self, link: NurseryLink) -> None:
        """Register a nursery; it replaces an earlier one of the same job."""
        if not self.dispatch.knows(link.ticket):
            link.close()
            return
        before = self._links.get(link.ticket)
        self._links[link.ticket] = link
        if before is not None:
            before.close()
        self.dispatch.attend(link.ticket)
        self.feed()

    def nursery_ends(self, link: NurseryLink) -> None:
        """Note that a nursery ends its workers: no row is blamed for it."""
        if self._links.get(link.ticket) is link and self.dispatch.knows(link.ticket):
            self.dispatch.attend(link.ticket, here=False)

    def nursery_gone(self, link: NurseryLink) -> None:
        """Note that a nursery has gone; its workers go with it."""
        self.nursery_ends(link)
        if self._links.get(link.ticket) is link:
            del self._links[link.ticket]

    def unborn(self, ticket: str, reason: str) -> None:
        """Note that a nursery cannot start a worker."""
        if self.dispatch.knows(ticket):
            self.dispatch.unborn(ticket, reason, time.monotonic())
            self._act()

    def ended_as(self, ticket: str, number: int, pid: int, code: int) -> None:
        """Take a worker's exit code, as its nursery reports it."""
        for hand in self._hands.values():
            if (hand.ticket, hand.number) == (ticket, number) and hand.pid in (pid, 0):
                hand.ended(code)
                return
        if self.dispatch.knows(ticket):
            self.dispatch.stillborn(ticket, number, pid, time.monotonic())
            self._act()

    def expects(self, ticket: str, number: int) -> bool:
        """Return whether a worker of this ticket and number was asked for."""
        return self.dispatch.expects(ticket, number)

    def arrive(self, ticket: str, number: int, pid: int, desk: Desk) -> Hand:
        """Return the handle for a worker that connects."""
        self.dispatch.staff.crew(ticket)
        return Hand(self, ticket, number, pid, desk)

    def arrived(self, hand: Hand) -> None:
        """Register a worker once it is connected, and give it work."""
        if not self.dispatch.knows(hand.ticket):
            hand.kill()
            return
        now = time.monotonic()
        hand.id = self.dispatch.arrived(hand.ticket, hand.number, hand.pid, now)
        self._hands[hand.id] = hand
        self.feed()

    def reported(self, hand: Hand, messages: Sequence[FromWorker]) -> None:
        """Take in a worker's reports; raise BadMessage if they make no sense."""
        try:
            self.dispatch.reported(hand.id, messages, time.monotonic())
        finally:
            self._act()
            if not self._feeds_soon:
                # After all reports of this turn and the engine's reaction to them, so that each
                # worker gets one message.
                self._feeds_soon = True
                asyncio.get_running_loop().call_soon(self._feed_if_due)

    def _feed_if_due(self) -> None:
        if self._feeds_soon:
            self.feed()

    def out_of_reach(self, hand: Hand) -> None:
        """Note that a worker's connection has ended."""
        if hand.id in self._hands:
            self.dispatch.out_of_reach(hand.id)

    def ended(self, hand: Hand) -> None:
        """Note that a worker's process has ended."""
        if self._hands.pop(hand.id, None) is not None:
            at_work, trace = hand.desk.notes(), hand.desk.trace()
            self.dispatch.ended(hand.id, at_work, trace, hand.code, time.monotonic())
            self.feed()

    def slay(self, hand: Hand) -> None:
        """Have the nursery kill a worker that cannot be reached from here."""
        if hand.ticket in self._links:
            self._links[hand.ticket].send(Slay(hand.number))

    async def close(self) -> None:
        """End all workers: ask, then kill. Nurseries belong to their jobs, and stay."""
        for timer in (self._watching, self._refill):
            if timer is not None:
                timer.cancel()
        self.dispatch.close()
        self._act()
        for _ in range(20):
            if not self._hands:
                break
            await asyncio.sleep(_END_S / 20)
        for hand in list(self._hands.values()):
            hand.kill()
        for link in list(self._links.values()):
            link.close()

    # Questions.

    def has_workers(self, job: int) -> bool:
        """Return whether any worker can prepare what a job waits for."""
        return self.dispatch.has_workers(job)

    def whereabouts(self, sample: int) -> str:
        """Say in words where a sample is."""
        staff, now = self.dispatch.staff, time.monotonic()
        return whereabouts.whereabouts(staff, sample, now, self._at_work)

    def acts_in_s(self, sample: int) -> float | None:
        """Return in how many seconds what a sample waits for is abandoned, if that takes long."""
        staff, now = self.dispatch.staff, time.monotonic()
        return whereabouts.acts_in_s(staff, sample, now, self._at_work)

    def _at_work(self, worker: int) -> list[Note]:
        return self._hands[worker].desk.notes() if worker in self._hands else []

    # What was decided is done.

    def _act(self) -> None:
        if self._acting:
            return  # the outer call carries on
        self._acting = True
        try:
            while decided := self.dispatch.decided():
                for action in decided:
                    self._do(action)
        finally:
            self._acting = False

    def _do(self, action: actions.Action) -> None:
        match action:
            case Give():
                if action.worker in self._hands:
                    self._hands[action.worker].send(*action.messages)
            case Tell():
                self._on_event(action.event)
            case AskForWorker():
                if action.ticket in self._links:
                    self._links[action.ticket].send(Bear(action.number))
            case Abandon():
                self._hands[action.worker].kill_after_last_words()
            case Warn():
                log.warning("%s", action.text, extra={"event": "workers_trouble"})
            case Dismiss():
                self._dismiss(action)

    def _dismiss(self, action: Dismiss) -> None:
        for worker in action.workers:
            if worker in self._hands:
                self._hands[worker].kill()
        pid, link = self._job_pid.pop(action.ticket, 0), self._links.get(action.ticket)
        if link is not None:
            # A nursery that was stopped cannot see that its job is gone.
            (link.kill if _is_gone(pid) else link.close)()

    def _watch(self) -> None:
        """Check all workers for hangs and memory growth; reschedules itself."""
        self._watching = asyncio.get_running_loop().call_later(WATCH_S, self._watch)
        now = time.monotonic()
        seen = {
            id: Seen(
                hand.desk.notes(),
                hand.private_bytes(),
                hand.pulse() if self.dispatch.in_doubt(id, now) else None,
            )
            for id, hand in self._hands.items()
        }
        self.dispatch.look(now, seen, self._read(), time.process_time())
        self._act()
        self._feed_when_allowed()


def usual_growth(workers: int) -> int:
    """Return how much a worker may grow after its first rows: an equal share of half the memory."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return memory // 2 // workers


def _is_gone(pid: int) -> bool:
    """Return whether a process has ended, even if it is not reaped yet."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    except OSError:  # in another pid namespace
        return False
    try:
        return readable(descriptor)
    finally:
        with suppress(OSError):
            os.close(descriptor)
