"""Weighted max–min against filling drop by drop, and against its own definition."""

import math

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from joader.schedule.shares.policies.fair import fair
from joader.schedule.shares.policies.need import Need

NEEDS = st.lists(
    st.builds(
        Need,
        demand=st.one_of(st.just(math.inf), st.integers(0, 60).map(lambda n: n / 10)),
        weight=st.sampled_from([0.5, 1.0, 2.0, 3.0]),
    ),
    min_size=1,
    max_size=6,
)


def drop_by_drop(needs: list[Need], capacity: float, drop: float) -> list[float]:
    """Give each drop to whoever has the least for its weight and wants more."""
    shares = [0.0] * len(needs)
    for _ in range(round(capacity / drop)):
        wants = [i for i, need in enumerate(needs) if shares[i] < need.demand - drop / 2]
        if not wants:
            break
        shares[min(wants, key=lambda i: shares[i] / needs[i].weight)] += drop
    return shares


@settings(max_examples=60, deadline=None)
@given(needs=NEEDS, capacity=st.integers(1, 80).map(lambda n: n / 10))
def test_it_is_what_filling_drop_by_drop_gives(needs: list[Need], capacity: float) -> None:
    assert fair(needs, capacity) == pytest.approx(
        drop_by_drop(needs, capacity, 0.005), abs=0.005 * (len(needs) + 1)
    )


@settings(deadline=None)
@given(needs=NEEDS, capacity=st.floats(0.1, 50.0))
def test_nobody_who_wants_more_has_less_for_its_weight_than_another(
    needs: list[Need], capacity: float
) -> None:
    shares = fair(needs, capacity)
    levels = [share / need.weight for share, need in zip(shares, needs, strict=True)]
    for need, share, level in zip(needs, shares, levels, strict=True):
        assert share <= need.demand
        if share < need.demand * (1 - 1e-9):
            assert level >= max(levels) * (1 - 1e-9)


def test_who_wants_less_gets_all_of_it_and_the_others_share_the_rest() -> None:
    needs = [Need(demand=0.2), Need(), Need(weight=2.0)]
    assert fair(needs, 2.0) == pytest.approx([0.2, 0.6, 1.2])
    assert fair([], 2.0) == []
