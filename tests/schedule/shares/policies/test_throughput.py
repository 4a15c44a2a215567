"""WAA: the paper's worked example, and the best of all allocations by brute force."""

import math
from itertools import product

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from joader.schedule.shares.policies.need import Need
from joader.schedule.shares.policies.throughput import throughput, whole_units

NEEDS = st.lists(
    st.builds(
        Need,
        demand=st.one_of(st.just(math.inf), st.integers(0, 32).map(lambda n: n / 4)),
        weight=st.sampled_from([1.0, 2.0]),
        row_s=st.sampled_from([0.5, 1.0, 3.0]),
    ),
    min_size=1,
    max_size=4,
)


def samples_per_s(needs: list[Need], units: list[int] | tuple[int, ...]) -> float:
    return sum(
        min(need.demand, count) * need.weight / need.row_s
        for need, count in zip(needs, units, strict=True)
    )


def test_the_papers_own_example() -> None:
    """Fig. 7: Resnet18 needs 8 workers, the two small models 14 each, and there are 18."""
    assert whole_units([Need(demand=8), Need(demand=14), Need(demand=14)], 18) == [2, 8, 8]
    # And once the small ones are done, Resnet18 gets the 8 that it can use, not 18.
    assert whole_units([Need(demand=8)], 18) == [8]


def test_the_most_over_provisioned_gives_first() -> None:
    """Rounded up, 2.1 has 0.9 too much and 2.9 has 0.1."""
    assert whole_units([Need(demand=2.9), Need(demand=2.1)], 5) == [3, 2]


def test_nobody_falls_below_one_worker_even_if_there_are_too_few() -> None:
    assert whole_units([Need(), Need(), Need()], 2) == [1, 1, 1]


@settings(max_examples=150, deadline=None)
@given(needs=NEEDS, capacity=st.integers(1, 9))
def test_no_other_allocation_gives_more_samples_per_second(
    needs: list[Need], capacity: int
) -> None:
    units = whole_units(needs, capacity)
    assert min(units) >= 1
    capacity = max(capacity, len(needs))
    assert sum(units) <= capacity
    each = product(range(1, capacity + 1), repeat=len(needs))
    best = max(samples_per_s(needs, one) for one in each if sum(one) <= capacity)
    assert samples_per_s(needs, units) == pytest.approx(best)


def test_cheap_rows_come_first_and_dear_ones_keep_a_thirty_second() -> None:
    shares = throughput([Need(row_s=0.01), Need(row_s=0.001)], 2.0)
    assert shares == pytest.approx([2 / 32, 2 - 2 / 32])
    assert throughput([], 2.0) == []


@settings(deadline=None)
@given(count=st.integers(1, 6), demand=st.integers(1, 20), capacity=st.integers(1, 40))
def test_equals_lose_equally(count: int, demand: int, capacity: int) -> None:
    units = whole_units([Need(demand=demand)] * count, capacity)
    assert max(units) - min(units) <= 1
