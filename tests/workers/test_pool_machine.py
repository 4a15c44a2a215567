"""The pool under everything that can happen: each order is in one place, and is answered once.

What the daemon is owed for each order that it gave: a report, or word that it was lost. A worker
that is late may report what another does, too, in another slot: the daemon gave that another
number. A model on paper keeps what was given and what was answered.
"""

import asyncio
from collections import Counter
from collections.abc import Coroutine
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from joader.messages import Cook, CookedEach
from joader.workers import crew, desk, hand, watch
from tests.workers.floor import SLOT_BYTES, Clock, Floor, Loop, Worker

PICK = st.integers(0, 1000)


class Machine(RuleBasedStateMachine):
    """Jobs, rows, reports, deaths and time at random."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        self.clock = Clock()
        for module in (crew, desk, hand, watch):
            self.patch.setattr(module, "time", self.clock)
        self.loop = Loop()
        self.loop.clock = self.clock
        self.floor = self.run(self.new_floor())
        self.jobs: dict[int, tuple[str, bool]] = {}  # code, and whether its workers help
        self.made = 0
        self.owed: dict[int, str] = {}  # sample -> code
        self.unread: list[int] = []  # what nobody had when its job left

    def run(self, story: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run_until_complete(story)

    async def new_floor(self) -> Floor:
        return Floor(self.clock, size=3)

    async def done(self, change: Any = None) -> None:
        if change is not None:
            change()
        await self.floor.settle()

    @rule(code=st.sampled_from(["a", "b"]), workers=st.integers(0, 3), lends=st.booleans())
    def join(self, code: str, workers: int, lends: bool) -> None:
        self.made += 1
        job = self.made
        self.run(self.done(lambda: self.floor.join(job, code, workers, lends)))
        self.jobs[job] = (code, lends)

    @precondition(lambda self: self.jobs)
    @rule(pick=PICK, count=st.integers(1, 12))
    def cook(self, pick: int, count: int) -> None:
        job = list(self.jobs)[pick % len(self.jobs)]
        code = self.jobs[job][0]
        samples = range(self.made + 1, self.made + 1 + count)
        self.made += count
        self.owed |= dict.fromkeys(samples, code)
        self.run(self.done(lambda: self.floor.cook(job, *samples, code=code)))

    @precondition(lambda self: self.jobs)
    @rule(pick=PICK)
    def leave(self, pick: int) -> None:
        job = list(self.jobs)[pick % len(self.jobs)]
        del self.jobs[job]

        def change() -> None:
            self.unread += self.floor.pool.leave(job, 1)

        self.run(self.done(change))

    def worker(self, pick: int) -> Worker | None:
        busy = [worker for worker in self.floor.workers if worker.alive and worker.has]
        return busy[pick % len(busy)] if busy else None

    @rule(pick=PICK, count=st.integers(1, 4), together=st.booleans())
    def report(self, pick: int, count: int, together: bool) -> None:
        worker = self.worker(pick)
        if worker is not None:
            samples = worker.has[:count]
            if together:
                message = CookedEach(tuple(samples), b"layout", SLOT_BYTES)
                self.run(self.done(lambda: worker.say(message)))
            else:
                self.run(self.done(lambda: worker.report(*samples)))

    @rule(pick=PICK)
    def begin(self, pick: int) -> None:
        worker = self.worker(pick)
        if worker is not None:
            worker.begin(worker.has[0])

    @rule(pick=PICK)
    def hand_back(self, pick: int) -> None:
        worker = self.worker(pick)
        if worker is not None and worker.hand.asked_back is not None:
            self.run(self.done(worker.hand_back))

    @rule(pick=PICK)
    def die(self, pick: int) -> None:
        worker = self.worker(pick)
        if worker is not None:
            self.run(self.done(worker.die))

    @rule(seconds=st.sampled_from([0.1, 0.6, 3.0, 12.0]))
    def later(self, seconds: float) -> None:
        self.run(self.floor.later(seconds))

    @invariant()
    def each_order_is_in_one_place_or_was_answered_once(self) -> None:
        crews = self.floor.pool._crews.values()
        places = Counter(order.sample for crew in crews for order in crew.queue)
        places.update(self.floor.has())
        places.update(self.answered())
        assert places == Counter(dict.fromkeys(self.owed, 1))

    def answered(self) -> list[int]:
        """Return all samples of which the daemon was told."""
        found = list(self.unread)
        for report in self.floor.reports:
            found += report.samples if isinstance(report, CookedEach) else [report.sample]
        for samples, _, _ in self.floor.lost:
            found += samples
        return found

    @invariant()
    def nobody_does_what_it_has_no_code_for(self) -> None:
        for worker in self.floor.workers:
            if worker.alive:
                its = worker.hand.crew.code  # type: ignore[attr-defined]
                for order in worker.hand.busy.values():
                    assert isinstance(order, Cook)
                    assert self.owed[order.sample] == its

    @invariant()
    def suspects_are_alone(self) -> None:
        for worker in self.floor.workers:
            if worker.alive and worker.hand.alone:
                assert len(worker.has) == 1

    @invariant()
    def there_are_no_more_workers_than_there_may_be(self) -> None:
        crews = list(self.floor.pool._crews.values())
        back = len(self.floor.late)  # others were born for those that were late, and may be back
        for one in crews:
            group = [other for other in crews if other.code == one.code]
            ceiling = max(3, *(other.most for other in group)) + len(group)
            assert one.present <= (one.most or 3) + back
            assert sum(other.present for other in group if other.lends) <= ceiling + back

    def teardown(self) -> None:
        try:
            self.all_is_done_in_the_end()
        finally:
            self.run(self.end())
            self.loop.close()
            self.patch.undo()

    def all_is_done_in_the_end(self) -> None:
        for _ in range(400):
            self.run(self.floor.later(1.2, step=0.6))
            for worker in [worker for worker in self.floor.workers if worker.alive]:
                while worker.has:
                    self.run(self.done(lambda worker=worker: worker.report(*worker.has)))
            self.each_order_is_in_one_place_or_was_answered_once()
            if len(self.answered()) == len(self.owed):
                return
        raise AssertionError(f"nobody does {set(self.owed) - set(self.answered())}")

    async def end(self) -> None:
        pool = self.floor.pool
        pool._closing = True
        if pool._watching is not None:
            pool._watching.cancel()
        for worker in self.floor.workers:
            worker.die()
        await asyncio.sleep(0)


Machine.TestCase.settings = settings(
    max_examples=60,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TestPool = Machine.TestCase
