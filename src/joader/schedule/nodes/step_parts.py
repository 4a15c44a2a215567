"""Which rank of a job reads which rows of a step: what its node has, as far as that is even.

A pure function of what every node is sent with the step, so nodes agree without talking. Every rank
gets equally many. The sum over the global batch is that of any other split; what a rank sees is
mostly the rows of its node (docs/cluster.md says when that matters).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from joader.schedule.nodes.assignment import NOBODY, assign
from joader.schedule.nodes.placement import Node, homes


@dataclass(frozen=True)
class Placement:
    """The nodes of ranks and of rows."""

    nodes: Sequence[Node]  # of the cluster
    able: frozenset[str]  # those that can prepare the recipe
    node_of_rank: Sequence[int]  # in `nodes`
    salt: int = 0


def by_rank(
    positions: NDArray[np.int64], rows: NDArray[np.integer], placement: Placement
) -> NDArray[np.int64]:
    """Return the positions of a step in the order of ranks: an equal part for each.

    `rows`: of these positions. The step is a multiple of the number of ranks.
    """
    ranks = len(placement.node_of_rank)
    share = positions.size // ranks
    node_of_rank = np.asarray(placement.node_of_rank, np.int64)
    ours = np.unique(node_of_rank)  # nodes that have ranks, in an order that all agree on
    if ours.size < 2 or not placement.able:
        return positions
    at = np.full(len(placement.nodes), NOBODY, np.int64)
    at[ours] = np.arange(ours.size)
    held = at[homes(rows, placement.nodes, placement.able, placement.salt)]
    quotas = [share * int(np.count_nonzero(node_of_rank == node)) for node in ours.tolist()]
    trainer = assign(held, quotas).trainer
    arranged = np.empty_like(positions)
    for number, node in enumerate(ours.tolist()):
        mine = positions[trainer == number]
        for place, rank in enumerate(np.flatnonzero(node_of_rank == node).tolist()):
            part = mine[place * share : (place + 1) * share]
            arranged[rank * share : (rank + 1) * share] = part
    return arranged
