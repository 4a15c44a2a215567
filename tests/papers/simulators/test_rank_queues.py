"""Threads for each rank's queue are never better than one pool for all ranks."""

import pytest

from papers.simulators.rank_queues import Node, compare

NODES = [
    Node(),
    Node(train=9.0),
    Node(ranks=4, threads=6, train=15.0),
    Node(ranks=2, threads=5, uneven=0.3, train=9.0),
    Node(spread=1.2, train=8.0),
    Node(threads=64, train=3.0),
]


@pytest.mark.parametrize("told", [False, True])
@pytest.mark.parametrize("node", NODES, ids=str)
def test_algorithm_1_is_not_better_than_a_common_pool(node: Node, told: bool) -> None:
    got = compare(Node(**{**vars(node), "told": told}), iterations=100)
    assert got["pool"].lasts <= got["algorithm 1"].lasts + 0.01 * node.train
    assert got["pool"].lateness <= got["algorithm 1"].lateness + 0.01 * node.train
    assert got["algorithm 1"].lasts <= got["equal"].lasts + 1e-9


def test_algorithm_1_helps_ranks_with_threads_of_their_own_if_costs_are_known() -> None:
    got = compare(Node(told=True), iterations=100)
    assert got["algorithm 1"].lasts < got["queues"].lasts


def test_rows_that_are_all_in_memory_take_no_time() -> None:
    got = compare(Node(hits=2.0, train=3.0), iterations=3)
    assert {one.lasts for one in got.values()} == {3.0}
