"""One job whose ranks run on several nodes: real daemons, ids and bytes, steps and states."""

import pytest

from tests.cluster.nodes import Nodes
from tests.cluster.rank_jobs import rows_of, start, steps_of


@pytest.mark.parametrize("locality", [False, True])
def test_ranks_on_two_nodes_read_one_plan(nodes: Nodes, locality: bool) -> None:
    nodes.up("a", "b")
    ranks = start(nodes, "ab", rows=301, epochs=2, loader={"locality": locality})
    nodes.go(*ranks)
    results = [rank.result() for rank in ranks]
    for number in range(2):
        rows = rows_of(steps_of(results, number))
        assert sorted(set(rows)) == list(range(301))
        assert len(rows) == 302
    for *_, stats in results:
        assert stats == {"delivered": 302, "repeated": 2, "length": 19}
