"""Any sample goes, each as likely as another."""

import pytest

from joader.cache import RandomReplacement
from tests.cache.eviction.naive import machine_of

TestRandomReplacementAgainstNaive = machine_of(RandomReplacement)


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
