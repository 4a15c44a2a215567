"""Any sample goes, each as likely as another."""

import pytest

from joader.cache import Demand, Known, RandomReplacement, Table
from tests.cache.eviction.naive import machine_of

TestRandomReplacementAgainstNaive = machine_of(RandomReplacement)


def policy_of(count, seed):
    policy = RandomReplacement(Known(Table(), Demand()), seed)
    policy.add_each(range(count))
    return policy


def who_leaves(seed, count=50):
    policy, gone = policy_of(count, seed), []
    while len(gone) < count:
        gone += policy.victims(1)
        policy.discard_each(gone[-1:])
    return gone


def test_random_replacement_repeats_itself_with_the_same_seed_only():
    assert who_leaves(7) == who_leaves(7)
    assert who_leaves(7) != who_leaves(8)


@pytest.mark.parametrize("place", [0, 1, 9])
def test_random_replacement_is_uniform_at_every_place_of_its_order(place):
    policy = policy_of(10, seed=1)
    counts = [0] * 10
    for _ in range(10_000):
        policy.discard_each([0])
        policy.add_each([0])
        counts[policy.victims(10)[place]] += 1
    # chi-squared with 9 degrees of freedom exceeds 44.8 with probability 1e-6
    assert sum((count - 1000) ** 2 / 1000 for count in counts) < 44.8
