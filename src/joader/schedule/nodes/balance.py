"""Evening out a step in few transfers: how many rows each node sends to which.

Algorithm 1 of the locality paper: always pair the largest surplus with the largest deficit and move
the smaller of the two. Each transfer settles at least one node and the last settles two, so p nodes
need at most p - 1. The fewest possible is NP-complete (it asks for as many groups as possible that
are even in themselves); half of the nodes that are not even is a lower bound, so this is at most
twice the optimum. How many rows move is the same in any schedule without detours.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heapreplace

from joader.errors import BadArgument


@dataclass(frozen=True)
class Transfer:
    """A number of rows that go from one node to another."""

    giver: int
    taker: int
    rows: int


def balance(surplus: Sequence[int]) -> list[Transfer]:
    """Return transfers that even all nodes out; negative numbers are deficits."""
    if sum(surplus):
        raise BadArgument(f"surpluses and deficits add up to {sum(surplus)}; they must add up to 0")
    # Python's heaps have the smallest first: a surplus is kept as its negative.
    givers = [(-rows, node) for node, rows in enumerate(surplus) if rows > 0]
    takers = [(rows, node) for node, rows in enumerate(surplus) if rows < 0]
    heapify(givers)
    heapify(takers)
    transfers = []
    while givers:
        (extra, giver), (short, taker) = givers[0], takers[0]
        rows = min(-extra, -short)
        transfers.append(Transfer(giver, taker, rows))
        for heap, left, node in ((givers, extra + rows, giver), (takers, short + rows, taker)):
            if left:
                heapreplace(heap, (left, node))
            else:
                heappop(heap)
    return transfers
