"""Samplers and policies by name."""

import pytest

from joader.cache import Lru
from joader.errors import BadArgument
from joader.sampling import SeededSampler
from joader.simulator.choices import POLICIES, SAMPLERS, chosen_policy, chosen_sampler


@pytest.mark.parametrize("name", SAMPLERS)
def test_every_sampler_has_a_name_and_follows_its_seed(name: str) -> None:
    drawn = []
    for _ in range(2):
        sampler, _ = chosen_sampler(name, seed=3)
        sampler.add("a", range(30))
        drawn.append(sampler.draw({"a": 30})["a"].tolist())
    assert drawn[0] == drawn[1]


def test_orders_that_are_a_jobs_own_are_told_to_the_engine() -> None:
    orders = {name: chosen_sampler(name, 0)[1] for name in SAMPLERS}
    assert {name: order for name, order in orders.items() if order != "shared"} == {
        "seeded": "seeded",
        "sequential": "given",
    }
    assert chosen_sampler(SeededSampler(), 0)[1] == "shared"


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_has_a_name(name: str) -> None:
    assert list(chosen_policy(name, 0).order()) == []


def test_a_policy_that_was_used_before_is_refused() -> None:
    policy = Lru()
    assert chosen_policy(policy, 0) is policy
    policy.add(1, 0, 1)
    with pytest.raises(BadArgument, match="has served another cache"):
        chosen_policy(policy, 0)


@pytest.mark.parametrize("choice", ["odd", 3, Lru])
def test_what_is_neither_a_name_nor_a_policy_is_refused_with_the_names(choice: object) -> None:
    with pytest.raises(BadArgument, match="refcount, expected, lru, fifo, random"):
        chosen_policy(choice, 0)  # type: ignore[arg-type]
