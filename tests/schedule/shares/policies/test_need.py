"""Parts in proportion, with a least part for each."""

from itertools import pairwise

import hypothesis.strategies as st
import pytest
from hypothesis import given

from joader.schedule.shares.policies.need import LEAST_PART, in_proportion, least_share

SIZES = st.lists(st.one_of(st.just(0.0), st.floats(1e-3, 1e3)), min_size=1, max_size=50)


@given(sizes=SIZES, capacity=st.floats(0.1, 100.0))
def test_all_is_given_nobody_starves_and_larger_sizes_never_get_less(
    sizes: list[float], capacity: float
) -> None:
    shares = in_proportion(sizes, capacity)
    assert sum(shares) == pytest.approx(capacity)
    assert min(shares) >= least_share(len(sizes), capacity) * (1 - 1e-9)
    by_size = [share for _, share in sorted(zip(sizes, shares, strict=True))]
    assert all(b >= a * (1 - 1e-9) for a, b in pairwise(by_size))


def test_who_is_above_the_least_part_gets_its_proportion_of_what_is_left() -> None:
    shares = in_proportion([0.0, 1.0, 3.0], 32.0)
    assert shares == pytest.approx([1.0, 31 / 4, 93 / 4])


def test_the_least_part_falls_with_more_claimants_than_it_has_room_for() -> None:
    assert least_share(10, 64.0) == 64.0 * LEAST_PART
    assert least_share(64, 64.0) == 1.0
    assert in_proportion([], 4.0) == []
