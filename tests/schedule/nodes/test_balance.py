"""Algorithm 1 of the locality paper against the fewest transfers there can be."""

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from joader.errors import BadArgument
from joader.schedule.nodes.balance import Transfer, balance
from tests.trials import trials


def even(surplus: list[int]) -> list[int]:
    """Make a list add up to 0."""
    return [*surplus, -sum(surplus)]


SURPLUSES = st.lists(st.integers(-20, 20), min_size=1, max_size=40).map(even)
FEW = st.lists(st.integers(-4, 4), min_size=1, max_size=5).map(even)


def fewest(surplus: tuple[int, ...]) -> int:
    """Return the fewest transfers: try every pair and every amount, one transfer at a time.

    Some optimal schedule settles a node with each transfer, so amounts that settle none are left
    out.
    """
    seen, front, transfers = {surplus}, {surplus}, 0
    while not any(not any(state) for state in front):
        following = set()
        for state in front:
            givers = [place for place, rows in enumerate(state) if rows > 0]
            takers = [place for place, rows in enumerate(state) if rows < 0]
            for giver in givers:
                for taker in takers:
                    rows = min(state[giver], -state[taker])
                    after = list(state)
                    after[giver] -= rows
                    after[taker] += rows
                    following.add(tuple(after))
        front = following - seen
        seen |= front
        transfers += 1
    return transfers


@given(SURPLUSES)
@settings(max_examples=trials(1000, 100), deadline=None)
def test_all_are_even_after_at_most_one_transfer_less_than_there_are_nodes(
    surplus: list[int],
) -> None:
    left = list(surplus)
    transfers = balance(surplus)
    for transfer in transfers:
        assert transfer.rows > 0
        left[transfer.giver] -= transfer.rows
        left[transfer.taker] += transfer.rows
    assert not any(left)
    uneven = sum(rows != 0 for rows in surplus)
    assert len(transfers) <= max(uneven - 1, 0)
    # Nothing takes a detour: givers give only, takers take only.
    assert sum(transfer.rows for transfer in transfers) == sum(max(rows, 0) for rows in surplus)


@given(FEW)
@settings(max_examples=trials(500, 60), deadline=None)
def test_there_are_at_most_twice_as_many_transfers_as_needed(surplus: list[int]) -> None:
    assert len(balance(surplus)) <= 2 * fewest(tuple(surplus))


def test_the_example_of_figure_5_needs_one_transfer() -> None:
    red, green, blue = 2 - 4, 6 - 4, 4 - 4
    assert balance([red, green, blue]) == [Transfer(1, 0, 2)]


def test_it_is_not_always_optimal() -> None:
    surplus = [-4, -3, 2, 2, 3]  # (-4, 2, 2) and (-3, 3)
    assert (len(balance(surplus)), fewest(tuple(surplus))) == (4, 3)


def test_what_does_not_add_up_is_refused() -> None:
    with pytest.raises(BadArgument, match="add up to 1"):
        balance([3, -2])
