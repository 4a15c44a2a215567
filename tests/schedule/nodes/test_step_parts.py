"""Which rank reads which rows of a step."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from joader.schedule.nodes.placement import Node, homes
from joader.schedule.nodes.step_parts import Placement, by_rank

NODES = [Node("a", 2), Node("b", 2), Node("c", 2)]


def parts(positions: np.ndarray, placement: Placement) -> list[set[int]]:  # type: ignore[type-arg]
    ranks = len(placement.node_of_rank)
    arranged = by_rank(positions, positions, placement)
    return [set(part.tolist()) for part in np.split(arranged, ranks)]


@given(
    st.lists(st.integers(0, 2), min_size=1, max_size=6),
    st.integers(1, 20),
    st.sets(st.sampled_from("abc")),
    st.integers(0, 5),
)
def test_every_row_goes_to_one_rank_and_all_get_equally_many(
    node_of_rank: list[int], share: int, able: set[str], salt: int
) -> None:
    positions = np.random.default_rng(salt).permutation(1000)[: share * len(node_of_rank)]
    placement = Placement(NODES, frozenset(able), node_of_rank, salt)
    found = parts(positions, placement)
    assert [len(part) for part in found] == [share] * len(node_of_rank)
    assert set().union(*found) == set(positions.tolist())


def test_a_rank_reads_what_its_node_has_and_few_rows_move() -> None:
    placement = Placement(NODES, frozenset("abc"), [0, 1, 2])
    moved = total = 0
    for step in range(200):
        positions = np.random.default_rng(step).permutation(10**5)[:192]
        home = dict(zip(positions.tolist(), homes(positions, NODES).tolist(), strict=True))
        held = np.bincount(list(home.values()), minlength=3)
        away = [
            sum(home[row] != rank for row in part)
            for rank, part in enumerate(parts(positions, placement))
        ]
        assert sum(away) == int(np.maximum(held - 64, 0).sum())  # no more than has to
        moved, total = moved + sum(away), total + positions.size
    assert 0.032 < moved / total < 0.042  # 3.7 % in the locality paper


def test_rows_of_a_node_without_ranks_fill_up_those_that_are_short() -> None:
    placement = Placement(NODES, frozenset("abc"), [0, 0, 1])
    positions = np.arange(300)
    home = homes(positions, NODES)
    found = parts(positions, placement)
    for node, read, quota in ((0, found[0] | found[1], 200), (1, found[2], 100)):
        own = sum(home[row] == node for row in read)
        assert own == min(quota, int(np.count_nonzero(home == node)))


def test_where_nobody_is_able_or_all_ranks_are_on_one_node_the_order_stays() -> None:
    positions = np.arange(40)[::-1]
    for placement in (
        Placement(NODES, frozenset(), [0, 1]),
        Placement(NODES, frozenset("abc"), [1, 1]),
    ):
        assert np.array_equal(by_rank(positions, positions, placement), positions)
