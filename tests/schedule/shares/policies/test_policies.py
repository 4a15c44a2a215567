"""What all policies have in common, and the paper's figures for those that are its own."""

import math

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from joader.errors import BadArgument
from joader.schedule.shares.policies import POLICIES, Need, policy_of
from joader.schedule.shares.policies.need import LEAST_PART

DEMANDS = st.one_of(st.just(math.inf), st.floats(0.0, 40.0))
NEEDS = st.lists(
    st.builds(
        Need,
        demand=DEMANDS,
        weight=st.floats(0.1, 10.0),
        row_s=st.floats(1e-4, 1.0),
        step_s=st.one_of(st.just(0.0), st.floats(1e-5, 1.0)),
    ),
    max_size=8,
)


@pytest.mark.parametrize("name", POLICIES)
@settings(deadline=None)
@given(needs=NEEDS, capacity=st.floats(0.5, 64.0))
def test_shares_never_add_up_to_more_than_there_is(
    name: str, needs: list[Need], capacity: float
) -> None:
    shares = POLICIES[name].shares(needs, capacity)
    assert len(shares) == len(needs)
    assert all(share >= 0.0 for share in shares)
    assert sum(shares) <= capacity * (1 + 1e-9)


@pytest.mark.parametrize("name", POLICIES)
@settings(deadline=None)
@given(needs=NEEDS.filter(bool), capacity=st.floats(0.5, 64.0))
def test_nothing_that_is_wanted_is_left_unless_it_is_reserved(
    name: str, needs: list[Need], capacity: float
) -> None:
    policy = POLICIES[name]
    total = sum(policy.shares(needs, capacity))
    wanted = capacity if policy.reserves else min(capacity, sum(need.demand for need in needs))
    assert total >= wanted * (1 - 1e-9)


@pytest.mark.parametrize("name", [name for name in POLICIES if name != "fair"])
@settings(deadline=None)
@given(needs=NEEDS.filter(bool), capacity=st.floats(0.5, 64.0))
def test_nobody_starves(name: str, needs: list[Need], capacity: float) -> None:
    least = min(capacity * LEAST_PART, capacity / len(needs))
    assert min(POLICIES[name].shares(needs, capacity)) >= least * (1 - 1e-9)


def test_the_papers_allocations_by_hand_come_out_of_its_step_times() -> None:
    """Fig. 3: Resnet18, mdResnet12 and smResnet20 on 18 workers; step times of 6 : 2 : 1."""
    needs = [Need(step_s=step_s) for step_s in (0.06, 0.02, 0.01)]
    shares = {name: POLICIES[name].shares(needs, 18.0) for name in POLICIES}
    assert shares["even"] == pytest.approx([6, 6, 6])
    assert shares["proportional"] == pytest.approx([12, 4, 2])
    inverse = [18 * part / (1 + 3 + 6) for part in (1, 3, 6)]
    assert shares["inverse"] == pytest.approx(inverse)


def test_jobs_without_a_step_are_the_smallest_models() -> None:
    needs = [Need(step_s=0.0), Need(step_s=0.1)]
    assert POLICIES["proportional"].shares(needs, 2.0) == pytest.approx([2 / 32, 2 - 2 / 32])
    assert POLICIES["inverse"].shares(needs, 2.0) == pytest.approx([2 - 2 / 32, 2 / 32])
    assert POLICIES["proportional"].shares(needs[:1] * 2, 2.0) == pytest.approx([1, 1])


def test_a_policy_that_does_not_exist_is_answered_with_those_that_do() -> None:
    assert policy_of("fair").name == "fair"
    with pytest.raises(BadArgument, match="no policy 'unfair'; use one of fair, throughput, even"):
        policy_of("unfair")
