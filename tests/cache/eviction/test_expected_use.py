"""What is soon to be used stays."""

import pytest

from joader.cache import ExpectedUse, RefCount
from joader.errors import BadArgument
from tests.cache.eviction.naive import machine_of

TestExpectedUseAgainstNaive = machine_of(ExpectedUse)


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
