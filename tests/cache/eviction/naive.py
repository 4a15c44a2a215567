"""A policy that sorts all samples each time, and a machine that plays any other against it."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from joader.cache import (
    READY,
    Demand,
    ExpectedUse,
    Fifo,
    Known,
    Lru,
    RandomReplacement,
    RefCount,
    Table,
)
from tests.trials import trials

JOBS = range(3)
HOMES = range(8)
jobs = st.sampled_from(JOBS)
homes = st.sampled_from(HOMES)


class Stage:
    """A table, a demand and a policy, told of changes as the cache tells it."""

    def __init__(self, policy_class):
        self.table, self.demand = Table(size=2), Demand()
        self.policy = policy_class(Known(self.table, self.demand))
        self.held = {}  # sample -> when it was let go
        self.admissions = self.steps = 0

    def admit(self, home, copied=False):
        self.admissions += 1
        sample = self.table.add(home)
        self.table.state.cells[sample] = READY
        self.table.copied.cells[sample] = copied
        self.table.admitted.cells[sample] = self.admissions
        self.let_go(sample)
        return sample

    def let_go(self, sample):
        self.steps += 1
        self.policy.add_each([sample])
        self.held[sample] = self.steps

    def pin(self, sample):
        self.policy.discard_each([sample])
        del self.held[sample]

    def tell(self, some):
        self.policy.change_each([s for s in self.table.of_each(some) if s in self.held])

    def begin(self, job, some):
        self.demand.begin(job, sorted(some))
        self.tell(some)

    def read(self, job, home):
        self.demand.read(job, home)
        self.tell([home])

    def rate(self, job, value):
        self.demand.rate(job, value)
        self.tell(HOMES)

    def plan(self, home, tick):
        self.demand.plan([home], tick)
        self.tell([home])

    def unplan(self, home):
        self.demand.unplan([home])
        self.tell([home])

    def order(self):
        """Return all samples that could leave, as the policy has them leave."""
        return self.policy.victims(len(self.held) + 1)


class PolicyAgainstNaive(RuleBasedStateMachine):
    """Samples come and go as the cache lets them; needs, rates and plans change at any time."""

    policy_class = RefCount

    def __init__(self):
        super().__init__()
        self.stage = Stage(self.policy_class)
        self.pinned = []
        self.needs = {job: set() for job in JOBS}
        self.rates = dict.fromkeys(JOBS, 1.0)
        self.plans = {}
        for job in JOBS:
            self.stage.begin(job, [])

    def naive_order(self):
        """Sort by what the policy's name says."""
        admitted, home = self.stage.table.admitted.cells, self.stage.table.home.cells

        def jobs_that_need(sample):
            return [job for job in JOBS if home[sample] in self.needs[job]]

        def use(sample):
            if home[sample] in self.plans:
                return (3, -self.plans[home[sample]])
            some = jobs_that_need(sample)
            last = not self.stage.table.copied.cells[sample]
            return (1 + last, sum(self.rates[job] for job in some)) if some else (0, 0)

        keys = {
            RefCount: lambda s: (len(jobs_that_need(s)), -admitted[s]),
            Lru: lambda s: self.stage.held[s],
            Fifo: lambda s: admitted[s],
            ExpectedUse: lambda s: (*use(s), -admitted[s]),
        }
        return sorted(self.stage.held, key=keys[self.policy_class])

    @rule(some=st.lists(homes, min_size=1, max_size=3), copied=st.booleans())
    def admit(self, some, copied):
        for home in some:
            self.stage.admit(home, copied)

    @precondition(lambda self: self.stage.held)
    @rule(data=st.data())
    def pin(self, data):
        sample = data.draw(st.sampled_from(sorted(self.stage.held)))
        self.stage.pin(sample)
        self.pinned.append(sample)

    @precondition(lambda self: self.pinned)
    @rule(data=st.data())
    def let_go(self, data):
        place = data.draw(st.integers(0, len(self.pinned) - 1))
        self.stage.let_go(self.pinned.pop(place))

    @precondition(lambda self: self.stage.held)
    @rule()
    def evict(self):
        (victim,) = self.stage.policy.victims(1)
        self.stage.pin(victim)
        self.stage.table.remove(victim)

    @rule(job=jobs, some=st.sets(homes, min_size=2))
    def begin(self, job, some):
        if not self.needs[job]:
            self.stage.begin(job, some)
            self.needs[job] = set(some)

    @rule(job=jobs, home=homes)
    def read(self, job, home):
        if home in self.needs[job]:
            self.stage.read(job, home)
            self.needs[job].remove(home)

    # Sums of these differ by more than a bucket is wide, or not at all.
    @rule(job=jobs, value=st.sampled_from([0.0, 1.0, 2.0, 4.0]))
    def rate(self, job, value):
        self.stage.rate(job, value)
        self.rates[job] = value

    @rule(home=homes, tick=st.none() | st.integers(0, 5))
    def plan(self, home, tick):
        if tick is None:
            self.stage.unplan(home)
            self.plans.pop(home, None)
        else:
            self.stage.plan(home, tick)
            self.plans[home] = tick

    @invariant()
    def the_order_is_that_of_the_naive_policy(self):
        order = self.stage.order()
        if self.policy_class is RandomReplacement:
            assert sorted(order) == sorted(self.stage.held)
        else:
            assert order == self.naive_order()
        for count in (1, 2):
            assert self.stage.policy.victims(count) == order[:count]


def machine_of(policy):
    machine = type(f"{policy.__name__}Machine", (PolicyAgainstNaive,), {"policy_class": policy})
    case = machine.TestCase
    case.settings = settings(
        deadline=None, max_examples=trials(100, 25), stateful_step_count=trials(40, 30)
    )
    return case
