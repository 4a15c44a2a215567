"""The optimum over all sets of nodes is the optimum over all schedules."""

import hypothesis.strategies as st
from hypothesis import given, settings

from papers.figures.fewest_transfers import fewest_transfers
from tests.schedule.nodes.test_balance import even, fewest
from tests.trials import trials


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=5).map(even))
@settings(max_examples=trials(500, 80), deadline=None)
def test_groups_that_are_even_give_the_fewest_transfers(surplus: list[int]) -> None:
    assert fewest_transfers(surplus) == fewest(tuple(surplus))
