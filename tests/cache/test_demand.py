"""The demand against a dict of sets."""

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from joader.cache import Demand
from joader.errors import BadArgument, BadRows, JobExists, UnknownJob

HOMES = [0, 1, 2, 7, 8, 9, 63, 64, 2**20, 2**32 - 1]  # with the last two the sparse form
jobs = st.sampled_from(["a", "b", "c", "d"])
homes = st.sampled_from(HOMES)


class DemandAgainstSets(RuleBasedStateMachine):
    """Every call on the demand and on the model; both refuse the same calls."""

    def __init__(self):
        super().__init__()
        self.demand = Demand()
        self.needs = {}
        self.rates = {}

    @rule(job=jobs, chosen=st.sets(homes))
    def begin(self, job, chosen):
        if self.needs.get(job):
            with pytest.raises(JobExists):
                self.demand.begin(job, list(chosen))
            return
        self.demand.begin(job, list(chosen))
        self.needs[job] = set(chosen)
        self.rates.setdefault(job, 1.0)

    @rule(job=jobs, home=homes)
    def read(self, job, home):
        if job not in self.needs:
            with pytest.raises(UnknownJob):
                self.demand.read(job, home)
        elif home not in self.needs[job]:
            with pytest.raises(BadArgument):
                self.demand.read(job, home)
        else:
            self.demand.read(job, home)
            self.needs[job].remove(home)

    @rule(job=jobs, chosen=st.lists(homes, max_size=4))
    def read_each(self, job, chosen):
        if job not in self.needs:
            with pytest.raises(UnknownJob):
                self.demand.read_each(job, chosen)
        elif set(chosen) - self.needs[job] or len(set(chosen)) < len(chosen):
            with pytest.raises((BadArgument, BadRows)):
                self.demand.read_each(job, chosen)
        else:
            self.demand.read_each(job, chosen)
            self.needs[job] -= set(chosen)

    @rule(job=jobs)
    def end(self, job):
        if job not in self.needs:
            with pytest.raises(UnknownJob):
                self.demand.end(job)
            return
        self.demand.end(job)
        self.needs[job] = set()

    @rule(job=jobs)
    def leave(self, job):
        if job not in self.needs:
            with pytest.raises(UnknownJob):
                self.demand.leave(job)
            return
        self.demand.leave(job)
        del self.needs[job], self.rates[job]

    @rule(job=jobs, value=st.sampled_from([0.0, 0.25, 2.0]))  # whose sums are exact
    def rate(self, job, value):
        if job not in self.needs:
            with pytest.raises(UnknownJob):
                self.demand.rate(job, value)
            return
        self.demand.rate(job, value)
        self.rates[job] = value

    @invariant()
    def needs_and_rates_are_those_of_the_model(self):
        everything = np.array(HOMES)
        needing = [[job for job in self.needs if home in self.needs[job]] for home in HOMES]
        assert self.demand.counts(everything).tolist() == [len(some) for some in needing]
        # A job that is known to need a row asks for it some time.
        rates = [sum(max(self.rates[job], 1e-12) for job in some) for some in needing]
        assert self.demand.rates(everything).tolist() == rates
        assert [self.demand.rate_of(home) for home in HOMES] == rates
        assert [self.demand.anybody_needs(home) for home in HOMES] == list(map(bool, needing))
        for job, needs in self.needs.items():
            expected = [home in needs for home in HOMES]
            assert self.demand.unread(job) == len(needs)
            assert self.demand.needed_each(job, everything).tolist() == expected
            assert [self.demand.needed(job, home) for home in HOMES] == expected


TestDemandAgainstSets = DemandAgainstSets.TestCase
TestDemandAgainstSets.settings = settings(deadline=None, max_examples=50, stateful_step_count=30)


def test_hundreds_of_jobs_are_counted():
    demand = Demand()
    for job in range(300):
        demand.begin(job, [job, 1000])
    assert demand.counts(np.array([299, 1000, 301])).tolist() == [1, 300, 0]


def test_a_refused_pass_leaves_no_trace_of_its_job():
    demand = Demand()
    with pytest.raises(BadRows):
        demand.begin("a", [1, 1])
    with pytest.raises(UnknownJob, match="'a' never began"):
        demand.unread("a")


def test_a_refused_second_pass_leaves_the_job_between_passes():
    demand = Demand()
    demand.begin("a", [1])
    demand.read("a", 1)
    with pytest.raises(BadRows):
        demand.begin("a", [-1])
    assert demand.unread("a") == 0
    demand.begin("a", [1, 2])
    assert demand.unread("a") == 2


def test_a_job_keeps_its_rate_from_pass_to_pass_and_takes_it_along():
    demand = Demand()
    demand.begin("a", [1])
    demand.rate("a", 4.0)
    demand.read("a", 1)
    demand.begin("a", [1])
    assert demand.rates(np.array([1])).tolist() == [4.0]
    demand.leave("a")
    demand.begin("a", [1])
    assert demand.rates(np.array([1])).tolist() == [1.0]


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_a_rate_that_is_not_one_is_refused_and_the_old_one_stays(value):
    demand = Demand()
    demand.begin("a", [1])
    demand.rate("a", 3.0)
    with pytest.raises(BadArgument, match="of job 'a'"):
        demand.rate("a", value)
    assert demand.rates(np.array([1])).tolist() == [3.0]


def test_the_last_plan_of_a_row_counts_until_it_is_taken_back():
    demand = Demand()
    demand.plan([1, 2], 5)
    demand.plan([2, 3], 4)
    assert demand.plans == {1: 5, 2: 4, 3: 4}
    demand.unplan([2, 7])
    assert demand.plans == {1: 5, 3: 4}


class Told:
    """Knows what a test says."""

    def __init__(self, seconds):
        self.seconds = seconds

    def seconds_until(self, homes):
        return np.array([self.seconds[home] for home in homes])

    def seconds_until_one(self, home):
        return self.seconds[home]


def foreseeing(seconds):
    """Return the demand of a job that needs rows 1 to 3, and asks for rows after these seconds."""
    demand = Demand()
    demand.begin("a", [1, 2, 3], ordered=True)
    demand.forecast = Told(seconds)
    return demand


def test_where_the_order_is_known_the_next_use_counts():
    demand = foreseeing({1: 4.0, 2: 0.5, 9: np.inf})
    assert demand.rates(np.array([1, 2, 9])).tolist() == [0.25, 2.0, 0.0]
    assert demand.rate_of(2) == 2.0
    demand.begin("b", [1, 2])  # once a second, as far as is known
    assert demand.rates(np.array([1, 2, 9])).tolist() == [1.0, 2.0, 0.0]


def test_rows_whose_use_is_not_known_count_by_need():
    demand = foreseeing({1: np.nan, 2: 8.0, 9: np.nan})
    demand.rate("a", 3.0)
    assert demand.rates(np.array([1, 2, 9])).tolist() == [3.0, 0.125, 0.0]
    assert [demand.rate_of(home) for home in (1, 2, 9)] == [3.0, 0.125, 0.0]


def test_a_job_that_leaves_or_begins_another_order_is_foreseen_no_more():
    demand = foreseeing({1: 4.0})
    demand.end("a")
    demand.begin("a", [1])
    assert demand.rates(np.array([1])).tolist() == [1.0]
    demand = foreseeing({1: 4.0})
    demand.leave("a")
    assert demand.rates(np.array([1])).tolist() == [0.0]
