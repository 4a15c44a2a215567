"""A policy that sorts all samples each time, and a machine that plays any other against it."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from joader.cache import ExpectedUse, Fifo, Lru, RandomReplacement, RefCount
from joader.errors import OurError

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
