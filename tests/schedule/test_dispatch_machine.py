"""Dispatch under everything that can happen: each order is in one place, and is answered once.

What the engine is owed for each order that it gave: a report, or word that it was lost. A worker
that is late may report what another does, too, in another slot: the engine gave that another
number. A model on paper keeps what was given and what was answered.
"""

from collections import Counter

import hypothesis.strategies as st
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from joader.messages import Prepared
from joader.schedule.orders import Row
from tests.schedule.floor import LAYOUT, SLOT_BYTES, Floor, Worker

PICK = st.integers(0, 1000)


class Machine(RuleBasedStateMachine):
    """Jobs, rows, reports, deaths and time at random."""

    def __init__(self) -> None:
        super().__init__()
        self.floor = Floor(cores=3)
        self.jobs: dict[int, str] = {}  # with their code
        self.made = 0
        self.owed: dict[int, str] = {}  # sample -> code

    @rule(code=st.sampled_from(["a", "b"]), workers=st.integers(0, 3), lends=st.booleans())
    def join(self, code: str, workers: int, lends: bool) -> None:
        self.made += 1
        self.floor.join(self.made, code, workers, lends)
        self.jobs[self.made] = code
        self.floor.settle()

    @precondition(lambda self: self.jobs)
    @rule(pick=PICK, count=st.integers(1, 12))
    def prepare(self, pick: int, count: int) -> None:
        job = list(self.jobs)[pick % len(self.jobs)]
        samples = range(self.made + 1, self.made + 1 + count)
        self.made += count
        self.owed |= dict.fromkeys(samples, self.jobs[job])
        self.floor.prepare(job, *samples, code=self.jobs[job])
        self.floor.settle()

    @precondition(lambda self: self.jobs)
    @rule(pick=PICK)
    def leave(self, pick: int) -> None:
        job = list(self.jobs)[pick % len(self.jobs)]
        del self.jobs[job]
        self.floor.leave(job)
        self.floor.settle()

    def worker(self, pick: int) -> Worker | None:
        busy = [worker for worker in self.floor.workers if worker.alive and worker.has]
        return busy[pick % len(busy)] if busy else None

    @rule(pick=PICK, count=st.integers(1, 4), together=st.booleans())
    def report(self, pick: int, count: int, together: bool) -> None:
        worker = self.worker(pick)
        if worker is not None:
            samples = worker.has[:count]
            if together:
                worker.say(Prepared(tuple(samples), (SLOT_BYTES,), (LAYOUT,)))
            else:
                worker.report(*samples)
            self.floor.settle()

    @rule(pick=PICK)
    def begin(self, pick: int) -> None:
        worker = self.worker(pick)
        if worker is not None:
            worker.begin(worker.has[0])

    @rule(pick=PICK)
    def hand_back(self, pick: int) -> None:
        worker = self.worker(pick)
        if worker is not None and worker.state.asked_back is not None:
            worker.hand_back()
            self.floor.settle()

    @rule(pick=PICK)
    def die(self, pick: int) -> None:
        worker = self.worker(pick)
        if worker is not None:
            worker.die()
            self.floor.settle()

    @rule(seconds=st.sampled_from([0.1, 0.6, 3.0, 12.0]))
    def later(self, seconds: float) -> None:
        self.floor.later(seconds)

    @invariant()
    def each_order_is_in_one_place_or_was_answered_once(self) -> None:
        crews = self.floor.dispatch.staff.crews.values()
        places = Counter(order.sample for crew in crews for order in crew.queue)
        places.update(self.floor.has())
        places.update(self.answered())
        assert places == Counter(dict.fromkeys(self.owed, 1))

    def answered(self) -> list[int]:
        """Return all samples of which the daemon was told."""
        lost = [sample for event in self.floor.lost for sample in event.samples]
        return [*self.floor.prepared, *lost]

    @invariant()
    def nobody_does_what_it_has_no_code_for(self) -> None:
        for worker in self.floor.workers:
            if worker.alive:
                for order in worker.state.busy.values():
                    assert isinstance(order, Row)
                    assert self.owed[order.sample] == worker.state.crew.code

    @invariant()
    def suspects_are_alone(self) -> None:
        for worker in self.floor.workers:
            if worker.alive and worker.state.alone:
                assert len(worker.has) == 1

    @invariant()
    def there_are_no_more_workers_than_there_may_be(self) -> None:
        crews = list(self.floor.dispatch.staff.crews.values())
        back = len(self.floor.late)  # others were born for those that were late, and may be back
        for one in crews:
            group = [other for other in crews if other.code == one.code]
            ceiling = max(3, *(other.most for other in group)) + len(group)
            assert one.present <= (one.most or 3) + back
            assert sum(other.present for other in group if other.lends) <= ceiling + back

    def teardown(self) -> None:
        """See that all is done in the end."""
        for _ in range(400):
            self.floor.later(1.2, step=0.6)
            for worker in [worker for worker in self.floor.workers if worker.alive]:
                while worker.has:
                    worker.report(*worker.has)
                    self.floor.settle()
            self.each_order_is_in_one_place_or_was_answered_once()
            if len(self.answered()) == len(self.owed):
                return
        raise AssertionError(f"nobody does {set(self.owed) - set(self.answered())}")


Machine.TestCase.settings = settings(
    max_examples=60,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TestDispatch = Machine.TestCase
