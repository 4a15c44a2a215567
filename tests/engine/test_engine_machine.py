"""The engine under everything that can happen, in any order, in little memory.

`World` checks every instruction; here is what must hold after every event and at the end.
"""

from collections import Counter
from typing import ClassVar

import hypothesis.strategies as st
import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from joader.cache import PREPARING, two_forms
from joader.engine import ON_DEMAND, Engine, Limits, deliveries, supply
from joader.messages import Join
from tests.engine.world import STORED, World
from tests.trials import trials

LEAST_TIMED, ROOM_PART = two_forms.LEAST_TIMED, two_forms.ROOM_PART
LIMITS = {"photos": 12, "sounds": 7, "texts": 30}
PICK = st.integers(0, 1000)


class Machine(RuleBasedStateMachine):
    """Jobs, workers and time at random."""

    sizes = st.lists(st.sampled_from([40, 64, 100, 128, 129, 300, 700]), min_size=1, max_size=6)
    equal = False
    on_demand = False
    own_parts = False
    few = supply.FEW  # up to so many samples are treated one by one
    limits = LIMITS
    row_s = 0.0

    def __init__(self) -> None:
        super().__init__()
        supply.FEW = deliveries.FEW = self.few
        self.next_job = 0
        self.now = 0.0

    @initialize(slots=st.integers(4, 60), least=st.sampled_from([1, 3, 64]), sizes=sizes)
    def start(self, slots: int, least: int, sizes: list[int]) -> None:
        sizes = [100] if self.equal else sizes
        limits = ON_DEMAND if self.on_demand else Limits(least_ahead=least)
        self.world = World(slots * 128, lambda row: sizes[row % len(sizes)], limits)
        self.world.row_s = self.row_s

    # Jobs.

    @rule(
        recipe=st.integers(0, 2),
        rows=st.lists(st.integers(0, 29), max_size=20) | st.none(),
        batch=st.integers(1, 5),
        order=st.sampled_from(["shared", "shared", "joint", "seeded", "given"]),
        fresh=st.booleans(),
        own=st.booleans(),
        itself=st.integers(0, 3),
        whom=st.sampled_from(["", "", "one", "other"]),
        begin=st.booleans(),
    )
    def join(
        self,
        recipe: int,
        rows: list[int] | None,
        batch: int,
        order: str,
        fresh: bool,
        own: bool,
        itself: int,
        whom: str,
        begin: bool,
    ) -> None:
        name = sorted(self.limits)[recipe]
        limit = self.limits[name]
        given = np.arange(limit) if rows is None else np.array([r % limit for r in rows], np.int64)
        job = self.next_job
        self.next_job += 1
        own = (own or self.own_parts) and not self.on_demand  # the simulator has no own parts
        self.world.join(
            Join(
                job=job,
                recipe=name,
                rows=given,
                row_limit=limit,
                batch_size=batch,
                order=order,
                seed=job % 3,
                fresh=fresh and name != STORED,
                own=own,
                reads_for=whom,
                reads_itself=not itself and not self.on_demand,
                stored=STORED if self.row_s else "",
            )
        )
        if begin and job in self.world.jobs:
            self.world.begin(job)

    @precondition(lambda self: self.world.jobs)
    @rule(pick=PICK, epoch=st.integers(0, 2), done=st.sets(st.integers(0, 19), max_size=8))
    def begin(self, pick: int, epoch: int, done: set[int]) -> None:
        job = self.a_job(pick)
        size = self.world.rows[job].size
        self.world.begin(job, epoch, np.array([p for p in done if p < size], np.int64))

    @precondition(lambda self: self.world.left)
    @rule(pick=PICK, counts=st.lists(PICK, min_size=1, max_size=4), later=st.floats(0, 0.5))
    def want(self, pick: int, counts: list[int], later: float) -> None:
        job = list(self.world.left)[pick % len(self.world.left)]
        self.now += later
        for count in counts:
            if job in self.world.jobs:
                self.world.want(job, 1 + count % self.world.jobs[job].batch_size, self.now)

    @precondition(lambda self: any(self.world.held.values()))
    @rule(pick=PICK, which=PICK)
    def release(self, pick: int, which: int) -> None:
        holding = [job for job, held in self.world.held.items() if held]
        job = holding[pick % len(holding)]
        self.world.release(job, which % len(self.world.held[job]))

    @precondition(lambda self: self.world.jobs)
    @rule(pick=PICK)
    def leave(self, pick: int) -> None:
        self.world.leave(self.a_job(pick))

    # Workers.

    @precondition(lambda self: self.world.to_do)
    @rule(picks=st.lists(PICK, min_size=1, max_size=8))
    def finish(self, picks: list[int]) -> None:
        for pick in picks:
            if self.world.to_do:
                self.world.finish(list(self.world.to_do)[pick % len(self.world.to_do)])

    @precondition(lambda self: self.world.to_do)
    @rule(pick=PICK)
    def fail(self, pick: int) -> None:
        self.world.fail(list(self.world.to_do)[pick % len(self.world.to_do)])

    @precondition(lambda self: self.world.to_do or self.world.sized)
    @rule(picks=st.lists(PICK, min_size=1, max_size=4))
    def lose(self, picks: list[int]) -> None:
        in_hand = [*self.world.to_do, *self.world.sized]
        self.world.lose({in_hand[pick % len(in_hand)] for pick in picks})

    @precondition(lambda self: self.world.to_do)
    @rule(picks=st.lists(PICK, min_size=1, max_size=4))
    def late(self, picks: list[int]) -> None:
        in_hand = [*self.world.to_do, *self.world.sized]
        self.world.late({in_hand[pick % len(in_hand)] for pick in picks})

    @rule()
    def settle(self) -> None:
        """Once all workers finish and all jobs release, nobody waits."""
        self.world.wake()
        self.world.settle()
        assert not any(self.world.wants.values())

    @precondition(lambda self: self.world.late_ones)
    @rule()
    def settle_without_the_late(self) -> None:
        self.world.settle()

    # What always holds.

    @invariant()
    def pins_are_what_is_asked_for_held_or_in_workers_hands(self) -> None:
        engine = self.world.engine
        underway = engine._stock.underway
        pins = Counter(order.source for order in underway.values() if order.source is not None)
        pins += Counter(
            one.raw for one in underway.values() if one.raw is not None and one.raw not in underway
        )
        for job, it in engine._readers.items():
            asked = zip(it.window.places, it.window.samples, strict=False)
            pins += Counter(s for position, s in asked if position not in it.window.failed)
            pins += Counter(it.inspected)
            held = Counter(
                int(sample) for batch in self.world.held[job] for sample in batch.tolist()
            )
            pins += held
            assert it.window.held == held
            assert it.window.held_count == held.total() <= max(it.share, it.batch_size)
            assert it.window.wanted == sum(it.window.wants)
            if self.on_demand:
                assert len(it.window.places) <= it.window.wanted
        table = engine._stock.table
        everyone = table.everyone().tolist()
        assert pins == {s: table.pins.cells[s] for s in everyone if table.pins.cells[s]}

    @invariant()
    def the_table_is_what_the_workers_think(self) -> None:
        table = self.world.engine._stock.table
        slots = {}
        for sample in table.everyone().tolist():
            if table.offset.cells[sample] >= 0:
                slots[sample] = table.offset.cells[sample], table.size.cells[sample]
            in_work = table.state.cells[sample] == PREPARING
            assert in_work == (sample in self.world.engine._stock.underway)
        assert slots == self.world.slots
        used = sum(size for _, size in slots.values())
        assert used == self.world.engine._cache.used_bytes
        known = self.world.engine._stock.underway
        come_along = {one.raw for one in known.values()} & set(known)
        underway = set(self.world.to_do) | set(self.world.sized) | come_along
        assert set(known) == underway
        assert set(self.world.engine._stock.unplaced) == set(self.world.sized)

    @invariant()
    def every_delivery_is_a_hit_or_a_preparation(self) -> None:
        got = self.world.engine.statistics().jobs
        jobs = [got[job] for job in self.world.jobs]
        assert all(s.delivered == s.hits + s.prepared and s.shared <= s.hits for s in jobs)
        by_themselves = sum(len(self.world.absent[job]) for job in self.world.jobs)
        assert sum(s.prepared for s in jobs) <= self.world.prepared + by_themselves

    @invariant()
    def nothing_is_prepared_for_jobs_that_read_themselves(self) -> None:
        themselves = {job for job, spec in self.world.jobs.items() if spec.reads_itself}
        assert not themselves & {order.job for order in self.world.to_do.values()}
        for job in themselves:
            assert not self.world.wants[job] or self.world.held[job]

    def a_job(self, pick: int) -> int:
        return list(self.world.jobs)[pick % len(self.world.jobs)]

    # The end.

    def teardown(self) -> None:
        if not hasattr(self, "world"):
            return
        self.everybody_reads_to_the_end()
        for job in list(self.world.jobs):
            self.world.leave(job)
        self.world.settle()
        self.nothing_is_left()
        replay = Engine(self.world.capacity, seed=5, limits=self.world.limits)
        for event, instructions in self.world.log:
            assert repr(replay.handle(event)) == repr(instructions)
        supply.FEW = deliveries.FEW = Machine.few

    def everybody_reads_to_the_end(self) -> None:
        self.settle()
        for job in [job for job in self.world.jobs if job not in self.world.left]:
            if job in self.world.jobs:
                self.world.begin(job)
        while todo := [job for job, left in self.world.left.items() if left]:
            for job in todo:
                if job in self.world.jobs:
                    self.world.want(job, self.world.jobs[job].batch_size, self.now)
            self.settle()
        for job in self.world.jobs:
            assert sorted(self.world.got[job]) == list(range(self.world.rows[job].size))

    def nothing_is_left(self) -> None:
        """See that nobody uses what is left, which deterministic recipes had prepared."""
        engine, stock = self.world.engine, self.world.engine._stock
        assert engine.pinned_bytes == 0
        assert not engine._readers
        assert not stock.underway
        assert not stock.unplaced
        assert not stock._source
        assert not stock._promised
        assert stock.promised_bytes == 0
        assert not stock.again
        assert self.world.ready == set(self.world.slots) == set(stock.table.everyone().tolist())
        stock.drop_all()
        assert not stock.forms._spent
        assert stock.forms._spent_bytes == 0
        assert not stock.forms._spent_for
        assert engine._cache.used_bytes == 0
        assert not len(stock.table)
        assert not stock.made_for
        assert not len(stock.instances)


class EqualSizes(Machine):
    """With samples of equal size no job depends on what another does."""

    equal = True
    few = 0

    @precondition(lambda self: self.world.left)
    @rule(pick=PICK)
    def one_reads_on_while_all_others_stop(self, pick: int) -> None:
        job = list(self.world.left)[pick % len(self.world.left)]
        self.world.wake()
        for _ in range(3):
            if job in self.world.jobs:
                self.world.want(job, self.world.jobs[job].batch_size, self.now)
            self.world.work()
            while self.world.held.get(job):
                self.world.release(job)
                self.world.work()
            assert not self.world.wants.get(job)


class OwnParts(Machine):
    """Jobs with parts of their own, which take the room of what they are made of."""

    own_parts = True
    few = 1


class RawForms(Machine):
    """Two ways to prepare the same rows, which are dear to read; others read them as stored."""

    limits: ClassVar = {"large": 12, "small": 12, STORED: 12}
    row_s = 0.01

    def __init__(self) -> None:
        super().__init__()
        two_forms.LEAST_TIMED, two_forms.ROOM_PART = 1, 0.5

    def teardown(self) -> None:
        super().teardown()
        two_forms.LEAST_TIMED, two_forms.ROOM_PART = LEAST_TIMED, ROOM_PART


class OnDemand(Machine):
    """Jobs that are guaranteed nothing: they get what they want once others have released."""

    on_demand = True


CHECKS = settings(
    max_examples=trials(60, 30),
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TestMachine = Machine.TestCase
TestMachine.settings = CHECKS
TestOwnParts = OwnParts.TestCase
TestOwnParts.settings = CHECKS
TestEqualSizes = EqualSizes.TestCase
TestEqualSizes.settings = CHECKS
TestRawForms = RawForms.TestCase
TestRawForms.settings = CHECKS
TestOnDemand = OnDemand.TestCase
TestOnDemand.settings = CHECKS
