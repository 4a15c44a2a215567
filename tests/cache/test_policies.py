"""Every policy against one that sorts all samples each time, and what only one of them promises."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from joader.cache import ExpectedUse, Fifo, Lru, RandomReplacement, RefCount
from joader.errors import BadArgument, OurError

JOBS = 4


class Naive:
    """All that any policy may look at; `order` sorts by what the policy's name says."""

    def __init__(self):
        self.samples = {}  # sample -> [needs, admitted, when it became evictable]
        self.rates = [1.0] * JOBS
        self.plans = {}
        self.steps = 0

    def add(self, sample, needs, admitted):
        self.steps += 1
        self.samples[sample] = [needs, admitted, self.steps]

    def value(self, needs):
        return sum(rate for job, rate in enumerate(self.rates) if needs >> job & 1)

    def order(self, policy):
        keys = {
            RefCount: lambda s, needs, admitted, _: (needs.bit_count(), -admitted),
            Lru: lambda s, needs, admitted, used: used,
            Fifo: lambda s, needs, admitted, _: admitted,
            ExpectedUse: lambda s, needs, admitted, _: (
                (1, -self.plans[s], -admitted)
                if s in self.plans
                else (0, self.value(needs), -admitted)
            ),
        }
        key = keys[policy]
        return sorted(self.samples, key=lambda sample: key(sample, *self.samples[sample]))


class PolicyAgainstNaive(RuleBasedStateMachine):
    """Samples come and go as the cache lets them; rates and plans change at any time."""

    policy_class = RefCount

    def __init__(self):
        super().__init__()
        self.policy = self.policy_class()
        self.naive = Naive()
        self.pinned = {}  # sample -> admitted
        self.admissions = 0

    needs = st.integers(0, 2**JOBS - 1)

    @rule(needs=needs)
    def admit(self, needs):
        self.admissions += 1
        sample = self.admissions * 7 % 23  # numbers that say nothing about the order
        if sample not in self.naive.samples and sample not in self.pinned:
            self.policy.add(sample, needs, self.admissions)
            self.naive.add(sample, needs, self.admissions)

    @precondition(lambda self: self.naive.samples)
    @rule(data=st.data())
    def pin(self, data):
        sample = data.draw(st.sampled_from(sorted(self.naive.samples)))
        self.policy.discard(sample)
        self.pinned[sample] = self.naive.samples.pop(sample)[1]

    @precondition(lambda self: self.pinned)
    @rule(data=st.data(), needs=needs)
    def unpin(self, data, needs):
        sample = data.draw(st.sampled_from(sorted(self.pinned)))
        admitted = self.pinned.pop(sample)
        self.policy.add(sample, needs, admitted)
        self.naive.add(sample, needs, admitted)

    @precondition(lambda self: self.naive.samples)
    @rule(data=st.data(), needs=needs)
    def change(self, data, needs):
        sample = data.draw(st.sampled_from(sorted(self.naive.samples)))
        self.policy.change(sample, needs)
        self.naive.samples[sample][0] = needs

    @precondition(lambda self: self.naive.samples)
    @rule()
    def evict(self):
        victim = self.policy.victim()
        self.policy.discard(victim)
        del self.naive.samples[victim]

    @rule(job=st.integers(0, JOBS - 1), rate=st.sampled_from([0.0, 0.5, 1.0, 2.0, 4.0]))
    def rate(self, job, rate):
        self.policy.rate(job, rate)
        self.naive.rates[job] = rate

    @rule(sample=st.integers(0, 22), when=st.none() | st.integers(-3, 3))
    def plan(self, sample, when):
        if when is None:
            self.policy.unplan(sample)
            self.naive.plans.pop(sample, None)
        else:
            self.policy.plan(sample, when)
            self.naive.plans[sample] = when

    @invariant()
    def the_order_is_that_of_the_naive_policy(self):
        order = list(self.policy.order())
        if self.policy_class is RandomReplacement:
            assert sorted(order) == sorted(self.naive.samples)
        else:
            assert order == self.naive.order(self.policy_class)
        if order:
            assert self.policy.victim() == self.policy.victim() == next(self.policy.order())
        else:
            with pytest.raises(OurError):
                self.policy.victim()


def machine_of(policy):
    machine = type(f"{policy.__name__}Machine", (PolicyAgainstNaive,), {"policy_class": policy})
    case = machine.TestCase
    case.settings = settings(deadline=None, max_examples=50, stateful_step_count=40)
    return case


TestRefCountAgainstNaive = machine_of(RefCount)
TestLruAgainstNaive = machine_of(Lru)
TestFifoAgainstNaive = machine_of(Fifo)
TestRandomReplacementAgainstNaive = machine_of(RandomReplacement)
TestExpectedUseAgainstNaive = machine_of(ExpectedUse)


def first_victims(seed, count=50):
    policy = RandomReplacement(seed)
    for sample in range(count):
        policy.add(sample, 0, sample)
    victims = []
    while len(victims) < count:
        victims.append(policy.victim())
        policy.discard(victims[-1])
    return victims


def test_random_replacement_repeats_itself_with_the_same_seed_only():
    assert first_victims(7) == first_victims(7)
    assert first_victims(7) != first_victims(8)


@pytest.mark.parametrize("place", [0, 1, 9])
def test_random_replacement_is_uniform_at_every_place_of_its_order(place):
    policy = RandomReplacement(seed=1)
    for sample in range(10):
        policy.add(sample, 0, sample)
    counts = [0] * 10
    for _ in range(10_000):
        policy.discard(0)
        policy.add(0, 0, 0)
        counts[list(policy.order())[place]] += 1
    # chi-squared with 9 degrees of freedom exceeds 44.8 with probability 1e-6
    assert sum((count - 1000) ** 2 / 1000 for count in counts) < 44.8


def test_expected_use_without_rates_and_plans_is_ref_count():
    ours, paper = ExpectedUse(), RefCount()
    for admitted, needs in enumerate([3, 1, 0, 2, 7, 0, 4, 5]):
        ours.add(admitted, needs, admitted)
        paper.add(admitted, needs, admitted)
    assert list(ours.order()) == list(paper.order())


def test_expected_use_keeps_what_a_fast_job_with_few_unread_will_ask_for():
    policy = ExpectedUse()
    policy.add(1, 0b01, 1)
    policy.add(2, 0b10, 2)
    policy.rate(0, 100 / 1_000)
    policy.rate(1, 10 / 50)
    assert policy.victim() == 1
    policy.rate(0, 100 / 400)
    assert policy.victim() == 2


def test_expected_use_remembers_a_plan_while_its_sample_is_pinned_or_absent():
    policy = ExpectedUse()
    policy.plan(1, 10.0)
    policy.add(1, 0, 1)
    policy.add(2, 0b1, 2)
    assert list(policy.order()) == [2, 1]
    policy.discard(1)
    policy.add(1, 0, 1)
    assert list(policy.order()) == [2, 1]
    policy.unplan(1)
    assert list(policy.order()) == [1, 2]


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_expected_use_refuses_rates_that_are_none_and_changes_nothing(value):
    policy = ExpectedUse()
    policy.add(1, 0b1, 1)
    policy.add(2, 0, 2)
    with pytest.raises(BadArgument):
        policy.rate(0, value)
    assert list(policy.order()) == [2, 1]


@pytest.mark.parametrize("when", [float("nan"), float("inf")])
def test_expected_use_refuses_a_use_at_no_time(when):
    policy = ExpectedUse()
    with pytest.raises(BadArgument):
        policy.plan(1, when)
