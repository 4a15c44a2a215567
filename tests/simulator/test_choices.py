"""Samplers and policies by name."""

import pytest

from joader.cache import Demand, Known, Lru, Table
from joader.errors import BadArgument
from joader.sampling import SeededSampler
from joader.simulator.choices import POLICIES, SAMPLERS, chosen_policy, chosen_sampler

KNOWN = Known(Table(), Demand())


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
    assert {name: order for name, order in orders.items() if order != "joint"} == {
        "seeded": "seeded",
        "sequential": "given",
        "streams": "shared",
    }
    assert chosen_sampler(SeededSampler(), 0)[1] == "joint"


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_has_a_name(name: str) -> None:
    known = Known(Table(), Demand())
    policy = chosen_policy(name, 0)(known)
    assert policy.victims(1) == []
    policy.add_each([known.table.add(7)])
    assert policy.victims(1) == [0]


def test_a_policy_of_ones_own_is_given_as_its_class() -> None:
    assert chosen_policy(Lru, 0) is Lru


@pytest.mark.parametrize("choice", ["odd", 3, Lru(KNOWN)])
def test_what_is_neither_a_name_nor_a_policy_is_refused_with_the_names(choice: object) -> None:
    with pytest.raises(BadArgument, match="refcount, expected, lru, fifo, random"):
        chosen_policy(choice, 0)  # type: ignore[arg-type]
