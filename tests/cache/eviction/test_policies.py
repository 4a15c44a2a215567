"""What all policies have in common; each against one that sorts all samples lies beside it."""

import pytest

from joader.cache import ExpectedUse, Fifo, Lru, RandomReplacement, RefCount
from tests.cache.eviction.naive import Stage

POLICIES = [RefCount, ExpectedUse, Fifo, Lru, RandomReplacement]


def who_leaves(policy_class):
    """Let samples come and go; return all who left, in order."""
    stage, gone = Stage(policy_class), []
    stage.begin("fast", range(0, 40, 2))
    stage.begin("slow", range(0, 40, 3))
    stage.rate("fast", 8.0)
    for home in range(60):
        stage.admit(home)
        stage.plan(home % 11, home)
        if home >= 20:
            gone += stage.policy.victims(2)
            for sample in gone[-2:]:
                stage.pin(sample)
                stage.table.remove(sample)
            stage.admit(home % 5)
    return gone


@pytest.mark.parametrize("policy", POLICIES)
def test_the_same_calls_make_the_same_samples_leave(policy):
    assert who_leaves(policy) == who_leaves(policy)


@pytest.mark.parametrize("policy", POLICIES)
def test_asking_who_would_leave_changes_nothing(policy):
    stage = Stage(policy)
    for home in range(10):
        stage.admit(home)
    some = stage.policy.victims(3)
    assert len(some) == 3
    everybody = stage.order()
    assert everybody[:3] == some == stage.policy.victims(3)
    assert sorted(everybody) == sorted(stage.held)


@pytest.mark.parametrize("policy", POLICIES)
def test_nobody_leaves_if_nobody_can(policy):
    stage = Stage(policy)
    stage.pin(stage.admit(1))
    assert stage.policy.victims(1) == []


def test_the_number_of_a_sample_that_has_gone_says_nothing_of_its_age():
    stage = Stage(RefCount)
    old, gone = stage.admit(1), stage.admit(2)
    assert stage.order() == [gone, old]
    stage.pin(old)
    stage.table.remove(old)
    new = stage.admit(3)
    assert new == old
    assert stage.order() == [new, gone]


@pytest.mark.parametrize("policy", [RefCount, ExpectedUse, Fifo])
def test_a_policy_of_nobody_ranks_behind_all_others_even_those_whose_use_is_known(policy):
    stage = Stage(policy)
    empty = stage.policy.rank()
    stage.admit(1)
    stage.plan(1, 0)
    assert stage.policy.rank() < empty
