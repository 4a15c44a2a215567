"""Ranked samples against a dict sorted each time, also when ranks change and nobody says so."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from joader.cache import Demand, Known, Table
from joader.cache.eviction import buckets
from joader.cache.eviction.buckets import Buckets
from tests.trials import trials

costs = st.integers(0, 3)  # few, so that there are ties


class World:
    """Samples that cost what a dict says, and buckets that rank them by it."""

    def __init__(self, oldest_first=False):
        self.table, self.cost = Table(size=2), {}
        self.ranked = []  # samples in each call of the rank function
        self.admissions = 0
        known = Known(self.table, Demand())
        self.buckets = Buckets(known, self.ranks, oldest_first)

    def ranks(self, known, samples):
        self.ranked.append(len(samples))
        return [self.cost[sample] for sample in samples]

    def admit(self, cost):
        self.admissions += 1
        sample = self.table.add(home=0, own=True)
        self.table.admitted.cells[sample] = self.admissions
        self.cost[sample] = cost
        self.buckets.add_each([sample])
        return sample

    def remove(self, sample):
        self.buckets.discard_each([sample])
        self.table.remove(sample)

    def let_pass(self, count):
        """Ask so often that all are looked at again with the next call."""
        for _ in range(buckets._LASTS - self.buckets._calls % buckets._LASTS - 1):
            self.buckets.victims(count)

    def order(self, held, cost=None, sign=-1):
        """Sort by cost, and equals by admission."""
        cost, admitted = cost or self.cost, self.table.admitted.cells
        return sorted(held, key=lambda sample: (cost[sample], sign * admitted[sample]))


class BucketsAgainstADict(RuleBasedStateMachine):
    """The model notes of each sample which rank it had when it was looked at last."""

    @initialize(oldest_first=st.booleans())
    def start(self, oldest_first):
        self.world = World(oldest_first)
        self.sign = 1 if oldest_first else -1
        self.seen = {}  # None: to be looked at before anything leaves
        self.up_to_date, self.calls = set(), 0
        self.pinned = []

    def look(self, samples):
        """Note current costs, if that is due; tell whether any was another one."""
        due = [s for s in samples if s not in self.up_to_date or self.seen[s] is None]
        self.up_to_date.update(due)
        changed = [s for s in due if self.seen[s] != self.world.cost[s]]
        self.seen.update((s, self.world.cost[s]) for s in changed)
        return bool(changed)

    def expected(self, count):
        self.calls += 1
        if self.calls % buckets._LASTS == 0:
            self.up_to_date.clear()
        self.look([s for s, rank in self.seen.items() if rank is None])
        for _ in range(buckets._LOOKS):
            ordered = self.world.order(self.seen, self.seen, self.sign)
            if self.up_to_date.issuperset(ordered[:count]):
                break
            if not self.look(ordered[: max(count, buckets._AHEAD)]):
                break
            self.look(ordered[: buckets._AROUND])
        return ordered[:count]

    def choose(self, data, samples):
        return data.draw(st.sampled_from(sorted(samples)))

    @rule(some=st.lists(costs, min_size=1, max_size=3))
    def admit(self, some):
        for cost in some:
            self.seen[self.world.admit(cost)] = None

    @precondition(lambda self: self.seen)
    @rule(data=st.data())
    def pin(self, data):
        sample = self.choose(data, self.seen)
        self.world.buckets.discard_each([sample])
        del self.seen[sample]
        self.pinned.append(sample)

    @precondition(lambda self: self.pinned)
    @rule()
    def unpin_all(self):
        self.world.buckets.add_each(self.pinned)
        self.seen.update(dict.fromkeys(self.pinned))
        self.pinned.clear()

    @precondition(lambda self: self.seen)
    @rule(data=st.data(), cost=costs, told=st.booleans())
    def cost_changes(self, data, cost, told):
        sample = self.choose(data, self.seen)
        self.world.cost[sample] = cost
        if told:
            self.world.buckets.change_each([sample])
            self.seen[sample] = None

    @rule(count=st.integers(1, 5))
    def victims(self, count):
        first = self.expected(count)
        assert self.world.buckets.victims(count) == first

    @rule(count=st.integers(1, 2))
    def evict(self, count):
        first = self.expected(count)
        assert self.world.buckets.victims(count) == first
        for sample in first:
            self.world.remove(sample)
            del self.seen[sample]

    @precondition(lambda self: self.seen)
    @rule()
    def rank(self):
        self.look([s for s, rank in self.seen.items() if rank is None])
        assert self.world.buckets.rank() == min(self.seen.values())


TestBucketsAgainstADict = BucketsAgainstADict.TestCase
TestBucketsAgainstADict.settings = settings(
    deadline=None, max_examples=trials(300, 60), stateful_step_count=40
)


@settings(deadline=None, max_examples=trials(300, 60))
@given(st.lists(costs, min_size=3, max_size=12), st.integers(1, 4), st.data())
def test_ranks_that_rose_unsaid_are_seen_before_anybody_leaves(some, count, data):
    world = World()
    samples = [world.admit(cost) for cost in some]
    assert world.buckets.victims(count) == world.order(samples)[:count]
    world.let_pass(count)
    # Each look finds one of them at least, and the last look has to find none.
    for sample in data.draw(st.permutations(samples))[: buckets._LOOKS - 1]:
        world.cost[sample] += data.draw(costs)
    assert world.buckets.victims(count) == world.order(samples)[:count]


def test_many_ranks_that_rose_unsaid_are_looked_at_a_few_times_only():
    world = World()
    samples = [world.admit(0) for _ in range(10 * buckets._LOOKS * buckets._AROUND)]
    world.buckets.victims(1)
    world.let_pass(1)
    world.cost.update(dict.fromkeys(samples, 1))
    world.ranked.clear()
    assert world.buckets.victims(1)[0] in samples
    assert sum(world.ranked) <= 3 * buckets._LOOKS * buckets._AROUND


def test_ranks_that_rose_unsaid_are_all_looked_at_when_one_is_seen():
    world = World()
    old = [world.admit(1) for _ in range(buckets._AROUND // 2)]
    world.buckets.victims(1)
    world.let_pass(1)
    world.cost.update(dict.fromkeys(old, 9))
    new = world.admit(5)
    assert world.buckets.victims(1) == [new]


def test_ranks_that_rose_unsaid_are_seen_after_a_while_at_the_latest():
    world = World()
    low, high = world.admit(1), world.admit(2)
    assert world.buckets.victims(1) == [low]
    world.cost[low] = 3
    found = [world.buckets.victims(1) for _ in range(buckets._LASTS)]
    assert found[-1] == [high]


def test_ranks_are_looked_at_seldom_while_they_stay():
    world = World()
    for number in range(1000):
        world.admit(number)
    world.buckets.victims(1)
    world.ranked.clear()
    for _ in range(10 * buckets._LASTS):
        world.remove(*world.buckets.victims(1))
    assert len(world.ranked) <= 10 * (1 + buckets._LASTS / buckets._AHEAD)


def test_a_rank_that_fell_is_seen_once_somebody_says_so():
    world = World()
    low, high = world.admit(1), world.admit(2)
    assert world.buckets.victims(1) == [low]
    world.cost[high] = 0
    assert world.buckets.victims(1) == [low]
    world.buckets.change_each([high])
    assert world.buckets.victims(1) == [high]
    assert world.buckets.rank() == 0


def test_of_equals_the_one_admitted_last_leaves_whenever_it_was_let_go():
    world = World()
    samples = [world.admit(1) for _ in range(3)]
    world.buckets.discard_each([samples[0]])
    world.buckets.add_each([samples[0]])
    assert world.buckets.victims(3) == samples[::-1]


def test_nothing_is_ranked_while_there_is_room():
    world = World()
    samples = [world.admit(0) for _ in range(10)]
    for _ in range(100):
        world.buckets.discard_each(samples)
        world.buckets.add_each(samples)
        world.buckets.change_each(samples)
    assert not world.ranked
    world.buckets.victims(1)
    assert world.ranked == [10]


def test_one_eviction_ranks_whom_it_evicts_and_who_came_since():
    world = World()
    for number in range(1000):
        world.admit(number % 7)
    world.buckets.victims(1)
    world.ranked.clear()
    for number in range(100):
        (victim,) = world.buckets.victims(1)
        world.remove(victim)
        world.admit(number % 7)
    assert sum(world.ranked) <= 2 * 100


@pytest.mark.parametrize("change", ["pin", "tell", "come and go"])
def test_heaps_do_not_grow_however_long_samples_change(change):
    world = World()
    stays = world.admit(1)
    sample = world.admit(1)
    for step in range(2_000):
        world.buckets.rank()  # so that all are ranked
        if change == "pin":
            world.buckets.discard_each([sample])
            world.buckets.add_each([sample])
        elif change == "tell":
            world.cost[sample] = step % 2
            world.buckets.change_each([sample])
        else:
            world.remove(sample)
            sample = world.admit(1)
    world.buckets.rank()
    assert len(world.buckets._heap) + len(world.buckets._front) <= 2 * (2 + buckets._SLACK)
    assert sorted(world.buckets.victims(5)) == sorted([stays, sample])


def test_ranks_that_nobody_has_any_more_leave_nothing_behind():
    world = World()
    for cost in range(100):
        sample = world.admit(cost)
        world.buckets.rank()
        world.remove(sample)
    assert world.buckets.victims(1) == []
    assert not world.buckets._heap
    assert not world.buckets._front
