"""Which node trains on which rows of a global batch: one that has them, as far as that is even.

The gradient of a step is a sum over the global batch, so it does not matter which node adds which
row (locality paper, theorem 1). Every row is trained on exactly once, and every node gets its
quota. Rows that no node holds are read from storage by nodes that are short; what is uneven then is
evened out between nodes (balance.py). Ranks of one node share its memory: the quota is the node's.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from joader.errors import BadArgument
from joader.schedule.nodes.balance import Transfer, balance

NOBODY = -1


@dataclass(frozen=True)
class Assignment:
    """For each row of the batch the node that trains on it, and what moves between nodes."""

    trainer: NDArray[np.int64]
    transfers: list[Transfer]

    @property
    def moved(self) -> int:
        """How many rows go from one node to another."""
        return sum(transfer.rows for transfer in self.transfers)


def even_quotas(held: Sequence[int] | NDArray[np.int64], batch: int) -> list[int]:
    """Split a batch evenly; what is left over goes to nodes that hold most of it."""
    each, over = divmod(batch, len(held))
    most = sorted(range(len(held)), key=lambda node: (-held[node], node))[:over]
    return [each + (node in most) for node in range(len(held))]


def assign(holders: ArrayLike, quotas: Sequence[int]) -> Assignment:
    """Assign the rows of a batch; `holders` has the node of each row, or NOBODY."""
    holder = np.asarray(holders, np.int64)
    nodes = len(quotas)
    if sum(quotas) != holder.size:
        raise BadArgument(f"quotas add up to {sum(quotas)}; the batch has {holder.size} rows")
    if holder.size and not (holder.min() >= NOBODY and holder.max() < nodes):
        raise BadArgument(f"rows are held by node {holder.max()}; there are {nodes} nodes")
    trainer = holder.copy()
    surplus = np.bincount(holder[holder >= 0], minlength=nodes) - np.asarray(quotas, np.int64)
    missing = np.flatnonzero(holder == NOBODY)
    # The smallest deficits first: each that is filled is a node that needs no transfer.
    for node in np.argsort(-surplus, kind="stable").tolist():
        if missing.size and surplus[node] < 0:
            taken, missing = np.split(missing, [min(-int(surplus[node]), missing.size)])
            trainer[taken] = node
            surplus[node] += taken.size
    transfers = balance(surplus.tolist())
    _move(trainer, holder, transfers)
    return Assignment(trainer, transfers)


def _move(
    trainer: NDArray[np.int64], holder: NDArray[np.int64], transfers: Sequence[Transfer]
) -> None:
    """Hand the last rows that each giver holds to its takers."""
    ours: dict[int, NDArray[np.intp]] = {}
    for transfer in transfers:
        rows = ours.get(transfer.giver)
        if rows is None:
            rows = np.flatnonzero(holder == transfer.giver)
        keep = rows.size - transfer.rows
        trainer[rows[keep:]] = transfer.taker
        ours[transfer.giver] = rows[:keep]
