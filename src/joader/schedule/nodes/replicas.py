"""Which ranks of a job load: one for each copy of the model, the others get what it has.

Under data parallelism every rank holds a copy and loads its part. Under model parallelism (tensor,
pipeline) several ranks hold one copy together and train on the same rows: only one of them loads
(JOADER, appendix E.4). Both at once are copies of several ranks each.
"""

from collections.abc import Sequence
from typing import TypeVar

from joader.errors import BadArgument

T = TypeVar("T")


def loading_ranks(copy_of: Sequence[int]) -> list[int]:
    """Return the lowest rank of each copy of the model; `copy_of` names each rank's copy."""
    first: dict[int, int] = {}
    for rank, copy in enumerate(copy_of):
        first.setdefault(copy, rank)
    return sorted(first.values())


def loading_nodes(node_of: Sequence[T], copy_of: Sequence[int]) -> list[T]:
    """Return the nodes on which some rank loads: rows of the job have their homes there."""
    if len(node_of) != len(copy_of):
        raise BadArgument(
            f"{len(node_of)} ranks have a node, {len(copy_of)} a copy; give both for each rank"
        )
    return list(dict.fromkeys(node_of[rank] for rank in loading_ranks(copy_of)))
