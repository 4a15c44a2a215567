"""One rank loads for each copy of the model."""

import pytest

from joader.errors import BadArgument
from joader.schedule.nodes.replicas import loading_nodes, loading_ranks


@pytest.mark.parametrize(
    ("copy_of", "ranks", "nodes"),
    [
        ([0, 1, 2, 3], [0, 1, 2, 3], ["a", "b"]),  # data parallel
        ([0, 0, 0, 0], [0], ["a"]),  # model parallel
        ([0, 1, 0, 1], [0, 1], ["a"]),  # two copies, each over both nodes
        ([0, 0, 1, 1], [0, 2], ["a", "b"]),  # a copy for each node
        ([], [], []),
    ],
)
def test_the_lowest_rank_of_each_copy_loads(
    copy_of: list[int], ranks: list[int], nodes: list[str]
) -> None:
    assert loading_ranks(copy_of) == ranks
    assert loading_nodes(["a", "a", "b", "b"][: len(copy_of)], copy_of) == nodes


def test_every_rank_needs_a_node_and_a_copy() -> None:
    with pytest.raises(BadArgument, match="2 ranks have a node, 1 a copy"):
        loading_nodes(["a", "b"], [0])
