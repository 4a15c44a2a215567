"""The cache against a model that looks at everything after each step."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from joader.cache import (
    NOBODY,
    NOWHERE,
    PREPARING,
    READY,
    Cache,
    ExpectedUse,
    Fifo,
    Lru,
    RandomReplacement,
    RefCount,
    Table,
    cache,
    round_up,
    runs,
)
from joader.errors import BadArgument, BadRows, CacheFull, JobExists, SampleTooLarge, UnknownJob
from tests.trials import trials

UNIT = 64
CAPACITY = 12 * UNIT
JOBS = ["a", "b"]
HOMES = range(5)  # few, so that calls meet
MOST_SAMPLES = 20
jobs = st.sampled_from(JOBS)
homes = st.sampled_from(HOMES)
# Half of them of two sizes, so that slots are used again; the others of any.
sizes = st.sampled_from([UNIT, 2 * UNIT]) | st.integers(0, 7 * UNIT)
mostly = st.integers(0, 3).map(bool)


@dataclass
class Sample:
    """What the model knows of one."""

    home: int
    own: bool
    serial: int
    ready: bool = False
    slot: tuple[int, int] | None = None  # offset and size
    pins: int = 0
    claimed: bool = False
    admitted: int = 0
    let_go: int = 0

    @property
    def may_leave(self):
        return self.ready and not self.pins


def watched(policy):
    """Return a kind of this policy that notes whom it holds, and what was so when it was told."""

    class Watched(policy):
        def __init__(self, known):
            super().__init__(known)
            self.known, self.told = known, {}

        def note(self, samples):
            counts = self.known.demand.counts(self.known.table.home.all[list(samples)])
            for sample, count in zip(samples, counts.tolist(), strict=True):
                plan = self.known.demand.plans.get(self.known.table.home.cells[sample])
                self.told[sample] = (count, plan)

        def add_each(self, samples):
            assert not self.told.keys() & samples
            self.note(samples)
            super().add_each(samples)

        def discard_each(self, samples):
            for sample in samples:
                del self.told[sample]
            super().discard_each(samples)

        def change_each(self, samples):
            assert self.told.keys() >= set(samples)
            self.note(samples)
            super().change_each(samples)

    return Watched


class CacheAgainstAModel(RuleBasedStateMachine):
    """A call that raises is made on the cache only: the model then shows that nothing changed."""

    kind = RefCount

    @initialize(parts=st.sampled_from([2, 3, 12]), fill=st.lists(sizes, min_size=4, max_size=8))
    def start(self, parts, fill):
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(runs, "RUNS_PART", parts)
        self.patch.setattr(cache, "_LOOK_AROUND", 3)
        self.patch.setattr(cache, "Table", lambda: Table(size=4))  # so that it has to grow
        self.cache = Cache(CAPACITY + 63, watched(self.kind))
        self.table = self.cache.table
        self.samples = {}  # by number
        self.needs = {}
        self.plans = {}
        self.steps = self.serial = self.wasted = 0
        for job in JOBS:
            self.begin(job, set(HOMES))
        for home, size in enumerate(fill):
            self.add_one(home % len(HOMES), False, size, ready=True)

    def teardown(self):
        if hasattr(self, "patch"):
            self.patch.undo()

    # Looking at everything.

    def such(self, test):
        return [number for number, sample in self.samples.items() if test(sample)]

    def choose(self, data, legal):
        """Draw what the cache should accept, seven times of eight, else anything."""
        usual = legal and data.draw(st.integers(0, 7)) < 7
        return data.draw(st.sampled_from(sorted(legal if usual else self.samples)))

    def step(self):
        self.steps += 1
        return self.steps

    def largest_room(self):
        """Measure the longest run of bytes that are free or could be, from scratch."""
        best = start = 0
        held = [s.slot for s in self.samples.values() if s.slot and not s.may_leave]
        for offset, size in [*sorted(held), (CAPACITY, 0)]:
            best = max(best, offset - start)
            start = offset + size
        return best

    def of_size(self, size):
        return self.such(lambda s: s.may_leave and s.slot[1] == size)

    def order_of(self, size):
        """List who could leave of this size, first to leave first; None if that is open.

        Who needs the row of an own sample says nothing of the sample: it is one job's alone.
        """
        needs = {home: sum(home in some for some in self.needs.values()) for home in HOMES}
        keys = {
            RefCount: lambda s: (needs[s.home], -s.admitted),
            Fifo: lambda s: s.admitted,
            Lru: lambda s: s.let_go,
        }
        some = self.of_size(size)
        if self.kind not in keys or any(self.samples[number].own for number in some):
            return None
        return sorted(some, key=lambda number: keys[self.kind](self.samples[number]))

    # What changes in the model.

    def note_added(self, number, home, own):
        assert number not in self.samples
        self.serial += 1
        self.samples[number] = Sample(home, own, self.serial)

    def note_gone(self, number):
        sample = self.samples.pop(number)
        self.wasted += sample.ready and not sample.own and not sample.claimed

    def note_evicted(self, numbers, size, order):
        assert len(set(numbers)) == len(numbers)
        assert set(numbers) <= set(self.such(lambda s: s.may_leave))
        same = [number for number in numbers if self.samples[number].slot[1] == size]
        if order is not None:
            assert same == order[: len(same)]
        for number in numbers:
            self.note_gone(number)

    def note_placed(self, number, size):
        sample = self.samples[number]
        sample.slot = (self.table.offset.cells[number], size)
        sample.admitted = self.step()

    def note_let_go(self, numbers):
        for number in numbers:
            if self.samples[number].may_leave:
                self.samples[number].let_go = self.step()

    # What jobs will ask for.

    @rule(job=jobs, chosen=st.sets(homes, min_size=2))
    def begin(self, job, chosen):
        if self.needs.get(job):
            with pytest.raises(JobExists):
                self.cache.begin(job, list(chosen))
            return
        self.cache.begin(job, list(chosen))
        self.needs[job] = set(chosen)

    @precondition(lambda self: self.steps % 5 == 3)  # seldom, or nothing else would come far
    @rule(job=jobs, leaves=st.booleans())
    def end_or_leave(self, job, leaves):
        call = self.cache.leave if leaves else self.cache.end
        if job not in self.needs:
            with pytest.raises(UnknownJob):
                call(job)
            return
        call(job)
        self.needs[job] = set()
        if leaves:
            del self.needs[job]

    @rule(job=jobs, chosen=st.lists(homes, min_size=1, max_size=2))
    def read(self, job, chosen):
        def call():
            if len(chosen) == 1:
                self.cache.read(job, chosen[0])
            else:
                self.cache.read_each(job, chosen)

        if set(chosen) - self.needs.get(job, set()) or len(set(chosen)) < len(chosen):
            with pytest.raises((BadArgument, BadRows, UnknownJob)):
                call()
            return
        call()
        self.needs[job] -= set(chosen)

    @rule(some=st.sets(homes), tick=st.none() | st.integers(0, 3))
    def plan(self, some, tick):
        if tick is None:
            self.cache.unplan(some)
            self.plans = {home: tick for home, tick in self.plans.items() if home not in some}
        else:
            self.cache.plan(some, tick)
            self.plans.update(dict.fromkeys(some, tick))

    @rule(job=jobs, value=st.sampled_from([0.0, 1.0, 2.0]))
    def rate(self, job, value):
        if job in self.needs:
            self.cache.demand.rate(job, value)

    # Samples come.

    @precondition(lambda self: len(self.samples) < MOST_SAMPLES)
    @rule(home=homes, own=st.booleans(), size=sizes, ready=mostly)
    def add_one(self, home, own, size, ready):
        number = self.table.add(home, own)
        self.note_added(number, home, own)
        self.reserve(number, size)
        if ready and self.samples[number].slot:
            self.prepare([number])

    @precondition(lambda self: self.samples)
    @rule(data=st.data(), size=sizes)
    def reserve_one(self, data, size):
        self.reserve(self.choose(data, self.such(lambda s: not s.ready and not s.slot)), size)

    def reserve(self, number, size_bytes):
        size = round_up(size_bytes)
        if self.samples[number].slot:
            with pytest.raises(BadArgument):
                self.cache.reserve(number, size_bytes)
        elif self.largest_room() < size:
            with pytest.raises(CacheFull, match=f"of {CAPACITY} bytes"):
                self.cache.reserve(number, size_bytes)
        else:
            order = self.order_of(size)
            self.note_evicted(self.cache.reserve(number, size_bytes), size, order)
            self.note_placed(number, size)

    @precondition(lambda self: len(self.samples) < MOST_SAMPLES)
    @rule(some=st.lists(homes, min_size=1, max_size=6), size=sizes, ready=mostly)
    def add_many(self, some, size, ready):
        numbers, count = self.add_and_reserve_each(some, size)
        for number in numbers[count:]:
            self.cache.drop(number)
            self.note_gone(number)
        if ready:
            self.prepare(numbers[:count])

    def add_and_reserve_each(self, some, size_bytes):
        numbers = [self.table.add(home) for home in some]
        for number, home in zip(numbers, some, strict=True):
            self.note_added(number, home, own=False)
        size, order = round_up(size_bytes), self.order_of(round_up(size_bytes))
        count, evicted = self.cache.reserve_each(numbers, size_bytes)
        self.note_evicted(evicted, size, order)
        for number in numbers[:count]:
            self.note_placed(number, size)
        assert count == len(numbers) or self.largest_room() < size
        return numbers, count

    @precondition(lambda self: self.samples)
    @rule(data=st.data(), size=st.sampled_from([-1, CAPACITY + 1]))
    def reserve_what_can_never_be(self, data, size):
        number = self.choose(data, self.such(lambda s: not s.ready and not s.slot))
        with pytest.raises((BadArgument, SampleTooLarge)):
            self.cache.reserve(number, size)

    @precondition(lambda self: self.samples)
    @rule(data=st.data(), count=st.integers(1, 3))
    def prepared(self, data, count):
        legal = self.such(lambda s: not s.ready and s.slot)
        numbers = list(dict.fromkeys(self.choose(data, legal) for _ in range(count)))
        if set(numbers) - set(legal):
            with pytest.raises(BadArgument):
                self.cache.prepared_each(numbers)
            return
        self.prepare(numbers)

    def prepare(self, numbers):
        if len(numbers) == 1:
            self.cache.prepared(numbers[0])
        else:
            self.cache.prepared_each(numbers)
        for number in numbers:
            self.samples[number].ready = True
        self.note_let_go(numbers)

    @precondition(lambda self: self.samples and self.steps % 3 == 0)
    @rule(data=st.data())
    def unplace(self, data):
        number = self.choose(data, self.such(lambda s: not s.ready))
        if self.samples[number].ready:
            with pytest.raises(BadArgument):
                self.cache.unplace(number)
            return
        self.cache.unplace(number)
        self.samples[number].slot = None

    # Samples are used.

    @precondition(lambda self: self.samples and len(self.such(lambda s: s.pins)) < 4)
    @rule(data=st.data())
    def lease(self, data):
        number = data.draw(st.sampled_from(sorted(self.samples)))
        self.cache.lease(number)
        self.samples[number].pins += 1

    @precondition(lambda self: self.samples)
    @rule(data=st.data())
    def release(self, data):
        number = self.choose(data, self.such(lambda s: s.pins))
        if not self.samples[number].pins:
            with pytest.raises(BadArgument):
                self.cache.release(number)
            return
        self.cache.release(number)
        self.samples[number].pins -= 1
        self.note_let_go([number])

    @precondition(lambda self: any(s.ready for s in self.samples.values()))
    @precondition(lambda self: len(self.such(lambda s: s.pins)) < 4)
    @rule(data=st.data())
    def lease_each(self, data):
        some = st.sampled_from(sorted(self.such(lambda s: s.ready)))
        numbers = data.draw(st.lists(some, min_size=1, max_size=4))
        self.cache.lease_each(np.array(numbers, np.int64))
        for number in numbers:
            self.samples[number].pins += 1

    @precondition(lambda self: self.such(lambda s: s.pins))
    @rule(data=st.data(), part=st.integers(1, 3))
    def release_each(self, data, part):
        held = [number for number, s in self.samples.items() for _ in range(s.pins)]
        numbers = data.draw(st.permutations(held))[: -(-len(held) // part)]
        self.cache.release_each(np.array(numbers, np.int64))
        for number in numbers:
            self.samples[number].pins -= 1
        self.note_let_go(sorted(set(numbers)))

    @precondition(lambda self: self.samples)
    @rule(data=st.data())
    def claim(self, data):
        number = data.draw(st.sampled_from(sorted(self.samples)))
        self.table.claimed.cells[number] = 7
        self.samples[number].claimed = True

    # Samples go.

    @precondition(lambda self: len(self.samples) > 2)
    @rule(data=st.data())
    def drop(self, data):
        number = self.choose(data, self.such(lambda s: not s.pins))
        if self.samples[number].pins:
            with pytest.raises(BadArgument):
                self.cache.drop(number)
            return
        self.cache.drop(number)
        self.note_gone(number)

    @precondition(lambda self: len(self.samples) > MOST_SAMPLES // 2)
    @rule(home=homes)
    def all_memory_is_one_slot_once_nothing_is_pinned(self, home):
        held = [number for number, s in self.samples.items() for _ in range(s.pins)]
        self.cache.release_each(np.array(held, np.int64))
        for number in held:
            self.samples[number].pins -= 1
        self.note_let_go(sorted(set(held)))
        for number in self.such(lambda s: not s.ready):
            self.cache.drop(number)
            self.note_gone(number)
        self.add_one(home, False, CAPACITY, ready=False)
        assert len(self.samples) == 1
        self.cache.unplace(*self.samples)
        next(iter(self.samples.values())).slot = None

    # What holds after each step.

    @invariant()
    def the_table_says_what_the_model_says(self):
        table = self.table
        assert table.everyone().tolist() == sorted(self.samples)
        assert len(self.cache) == len(self.samples)
        for number, sample in self.samples.items():
            assert table.state.cells[number] == (READY if sample.ready else PREPARING)
            assert table.home.cells[number] == sample.home
            assert table.own.cells[number] == sample.own
            assert table.pins.cells[number] == sample.pins
            assert (table.claimed.cells[number] != NOBODY) == sample.claimed
            assert table.serial.cells[number] == sample.serial
            slot = (table.offset.cells[number], table.size.cells[number])
            assert slot == (sample.slot or (NOWHERE, 0))
            assert self.cache.may_leave(number) == sample.may_leave

    @invariant()
    def numbers_are_used_again(self):
        assert len(self.table.state.cells) <= 2 * (MOST_SAMPLES + 6)

    @invariant()
    def rows_have_their_samples_oldest_first_and_own_ones_are_not_found(self):
        for home in HOMES:
            found = self.such(lambda s, home=home: s.home == home and not s.own)
            assert self.table.all_of(home) == sorted(found, key=lambda n: self.samples[n].serial)

    @invariant()
    def bytes_are_within_the_budget_and_each_has_one_owner(self):
        slots = [sample.slot for sample in self.samples.values() if sample.slot]
        end = 0
        for offset, size in sorted(slots):
            assert offset % UNIT == 0
            assert offset >= end
            end = offset + size
        assert end <= CAPACITY
        held = [s.slot[1] for s in self.samples.values() if s.slot and not s.may_leave]
        counts = self.cache.statistics()
        assert counts.used_bytes == self.cache.used_bytes == sum(size for _, size in slots)
        assert counts.pinned_bytes == self.cache.pinned_bytes == sum(held)
        assert counts.budget_bytes == self.cache.capacity_bytes == CAPACITY
        assert self.cache.wasted == self.wasted

    @invariant()
    def policies_hold_exactly_who_could_leave_and_know_who_needs_them(self):
        told = {}
        for size, policy in self.cache._policies.items():
            assert set(policy.told) == set(self.of_size(size))
            told.update(policy.told)
        assert set(told) == set(self.such(lambda s: s.may_leave))
        for number in self.such(lambda s: s.may_leave and not s.own):
            home = self.samples[number].home
            count = sum(home in needs for needs in self.needs.values())
            assert told[number] == (count, self.plans.get(home))


def machine_of(policy):
    machine = type(f"{policy.__name__}Machine", (CacheAgainstAModel,), {"kind": policy})
    case = machine.TestCase
    case.settings = settings(
        deadline=None, max_examples=trials(100, 24), stateful_step_count=trials(50, 40)
    )
    return case


TestCacheOfRefCount = machine_of(RefCount)
TestCacheOfExpectedUse = machine_of(ExpectedUse)
TestCacheOfLru = machine_of(Lru)
TestCacheOfFifo = machine_of(Fifo)
TestCacheOfRandomReplacement = machine_of(RandomReplacement)
