"""Dispatch under everything that can happen: each order is in one place, and is answered once.

What the engine is owed for each order that it gave: a report, or word that it was lost. A worker
that is late may report what another does, too, in another slot: the engine gave that another
number. A model on paper keeps what was given and what was answered.

Own parts come before and after their sources are ready, light and heavy; those whose source fails
need no answer, as the engine fails them itself, nor do those of a late worker's rows, which it
tells anew.
"""

from collections import Counter

import hypothesis.strategies as st
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from joader.messages import Failed, Place, Prepared, Sized
from joader.schedule.limits.pace import MOST_CHUNK
from joader.schedule.work.blame import Pulse
from joader.schedule.work.orders import Own
from tests.schedule.floor import LAYOUT, SLOT_BYTES, Floor, Worker

PICK = st.integers(0, 1000)
PACES = st.sampled_from([0.0, 1e-5, 0.001, 0.015, 3.0])


class Machine(RuleBasedStateMachine):
    """Jobs, rows, reports, deaths and time at random."""

    def __init__(self) -> None:
        super().__init__()
        self.floor = Floor(cores=3)
        self.jobs: dict[int, str] = {}  # with their code
        self.made = 0
        self.owed: dict[int, str] = {}  # sample -> code
        self.own: dict[int, tuple[int, int]] = {}  # own part -> its job and its source
        self.whole: dict[int, int] = {}  # rows with their own parts -> their jobs
        self.sized: set[int] = set()
        self.failed: set[int] = set()

    @rule(code=st.sampled_from(["a", "b"]), workers=st.integers(0, 3), lends=st.booleans())
    def join(self, code: str, workers: int, lends: bool) -> None:
        self.made += 1
        self.floor.join(self.made, code, workers, lends)
        self.jobs[self.made] = code
        self.floor.settle()

    @precondition(lambda self: self.jobs)
    @rule(pick=PICK, count=st.integers(1, 12), whole=st.booleans())
    def prepare(self, pick: int, count: int, whole: bool) -> None:
        job = list(self.jobs)[pick % len(self.jobs)]
        samples = range(self.made + 1, self.made + 1 + count)
        self.made += count
        self.owed |= dict.fromkeys(samples, self.jobs[job])
        self.whole |= dict.fromkeys(samples, job) if whole else {}
        self.floor.prepare(job, *samples, code=self.jobs[job], whole=whole)
        self.floor.settle()

    @precondition(lambda self: self.jobs)
    @rule(pick=PICK, which=PICK)
    def finish(self, pick: int, which: int) -> None:
        """Have an own part done of a row that is ready, or that is on its way."""
        job = list(self.jobs)[pick % len(self.jobs)]
        gone = {sample for event in self.floor.lost for sample in event.samples} | self.failed
        late = {sample for samples in self.floor.late for sample in samples}
        rows = [
            sample
            for sample, code in self.owed.items()
            if code == self.jobs[job]
            and sample not in self.own
            and sample not in gone | late
            and sample not in self.whole
        ]
        if rows:
            source = rows[which % len(rows)]
            self.made += 1
            self.owed[self.made], self.own[self.made] = self.jobs[job], (job, source)
            layout = LAYOUT if source in self.floor.prepared else b""
            self.floor.finish(self.made, source, layout, job)
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

    def next_of(self, worker: Worker, count: int) -> list[int]:
        """Return what a worker does next: sources before what is made of them."""
        has = [sample for sample in worker.has if sample not in self.sized]
        busy = worker.state.busy
        waits = {
            one for one in has if isinstance(busy[one], Own) and busy[one].source in worker.has
        }
        return [sample for sample in has if sample not in waits][:count]

    @rule(pick=PICK, count=st.integers(1, 40), together=st.booleans(), row_s=PACES, own_s=PACES)
    def report(self, pick: int, count: int, together: bool, row_s: float, own_s: float) -> None:
        worker = self.worker(pick)
        if worker is not None:
            samples = self.next_of(worker, count)
            if together:
                rows = tuple(sample for sample in samples if sample not in self.own)
                own = tuple(sample for sample in samples if sample in self.own)
                worker.say(
                    *(
                        Prepared(some, (SLOT_BYTES,), (LAYOUT,), row_s * len(some), own_s=own_s)
                        for some in (rows, own)
                        if some
                    )
                )
            else:
                worker.report(*samples, row_s=row_s)
            self.floor.settle()

    @rule(pick=PICK)
    def size(self, pick: int) -> None:
        worker = self.worker(pick)
        if worker is not None and (samples := self.next_of(worker, 1)):
            self.sized.update(samples)
            worker.say(Sized(tuple(samples), (2 * SLOT_BYTES,)))
            self.floor.settle()

    @rule(pick=PICK)
    def place(self, pick: int) -> None:
        there = sorted(self.sized & set(self.floor.has()))
        if there:
            sample = there[pick % len(there)]
            self.sized.discard(sample)
            self.floor.dispatch.place(Place((sample,), (0,), (SLOT_BYTES,)))
            self.floor.settle()

    @rule(pick=PICK)
    def fail(self, pick: int) -> None:
        worker = self.worker(pick)
        if worker is not None and (samples := self.next_of(worker, 1)):
            (sample,) = samples
            self.failed |= {sample}
            self.failed |= {
                own
                for own, (_, source) in self.own.items()
                if source == sample and own not in self.answered()
            }
            worker.say(Failed(sample, "bad row"))
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

    @rule(pick=PICK, runnable=st.booleans())
    def starve(self, pick: int, runnable: bool) -> None:
        worker = self.worker(pick)
        if worker is not None:
            worker.pulse = Pulse(1.0, runnable)

    @rule(seconds=st.sampled_from([0.1, 0.6, 3.0, 12.0]))
    def later(self, seconds: float) -> None:
        self.floor.later(seconds)

    @invariant()
    def each_order_is_in_one_place_or_was_answered_once(self) -> None:
        crews = self.floor.dispatch.staff.crews.values()
        places = Counter(order.sample for crew in crews for order in crew.queue)
        held = self.floor.dispatch.staff.held.values()
        places.update(own.sample for some in held for _, own in some)
        places.update(self.floor.has())
        places.update(self.answered())
        assert set(places) | self.told_anew() == set(self.owed)
        for sample, count in places.items():
            assert count == 1 or sample in self.own, sample

    @invariant()
    def rows_with_own_parts_are_with_workers_of_their_job(self) -> None:
        for worker in self.floor.workers:
            for sample in worker.has if worker.alive else ():
                if sample in self.whole:
                    assert worker.ticket == f"ticket {self.whole[sample]}"

    def told_anew(self) -> set[int]:
        """Return own parts that the engine tells again: their sources are with a late worker."""
        late = {sample for samples in self.floor.late for sample in samples}
        return {own for own, (_, source) in self.own.items() if source in late}

    def answered(self) -> list[int]:
        """Return all samples of which the daemon was told."""
        lost = [sample for event in self.floor.lost for sample in event.samples]
        return [*self.floor.prepared, *lost, *self.failed]

    @invariant()
    def nobody_does_what_it_has_no_code_for(self) -> None:
        for worker in self.floor.workers:
            if worker.alive:
                for order in worker.state.busy.values():
                    assert self.owed[order.sample] == worker.state.crew.code
                    if isinstance(order, Own):
                        assert worker.ticket == f"ticket {order.job}"

    @invariant()
    def who_takes_more_is_known(self) -> None:
        """What is kept up to date beside what each worker has says the same."""
        staff = self.floor.dispatch.staff
        for crew in staff.crews.values():
            takes = [w for w in crew.workers if not (w.leaving or w.gone or w.alone or w.late)]
            assert set(crew.idle) == {worker for worker in takes if not worker.busy}
            assert set(crew.short) <= {worker for worker in takes if worker.busy}
            here = {w for w in crew.workers if w.computes and not (w.gone or w.late)}
            assert crew.full <= crew.at_work <= here
            assert here - crew.at_work <= {w for w in here if w.is_stuck(self.floor.now)}
            for worker in crew.workers:
                own = [one for one in worker.busy.values() if isinstance(one, Own)]
                assert worker.own == len(own)
                for sample in worker.busy:
                    assert staff.holder[sample] is worker

    @invariant()
    def nobody_has_much_more_than_a_chunk_in_hand(self) -> None:
        for worker in self.floor.dispatch.staff.workers.values():
            assert len(worker.busy) - worker.own <= 2 * MOST_CHUNK

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
            alone = self.own or self.whole  # what nobody else can do
            assert alone or sum(c.present for c in group if c.lends) <= ceiling + back

    def teardown(self) -> None:
        """See that all is done in the end."""
        for _ in range(400):
            self.floor.later(1.2, step=0.6)
            self.sized &= set(self.floor.has())
            while self.sized:
                self.place(0)
            for worker in [worker for worker in self.floor.workers if worker.alive]:
                while samples := self.next_of(worker, 100):
                    worker.report(*samples)
                    self.floor.settle()
            self.each_order_is_in_one_place_or_was_answered_once()
            if set(self.answered()) | self.told_anew() == set(self.owed):
                return
        raise AssertionError(f"nobody does {set(self.owed) - set(self.answered())}")


Machine.TestCase.settings = settings(
    max_examples=60,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TestDispatch = Machine.TestCase
