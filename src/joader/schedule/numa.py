"""On which memory node each job's workers should run, where a machine has several.

A worker that writes to memory of another node waits for the link between them, and takes it from
others. So the workers of a job, its process and the samples that it reads belong on one node, as
long as that has room; Lobster keeps threads and buffers of a GPU on its node, too. Jobs that share
a recipe read the same samples: they belong together before others do.

Decided here, and nothing else: no worker is moved yet. The machines that joader was measured on
have one node, where there is nothing to decide, and to bind workers without having measured it
would be a guess.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Group:
    """Jobs that read one recipe: how many workers they want, and where their processes run."""

    workers: float
    processors: frozenset[int] = frozenset()  # of their own; none: wherever


def nodes_of(
    groups: Mapping[str, Group], nodes: Sequence[frozenset[int]]
) -> dict[str, list[float]]:
    """Return how many workers of each group go to each node.

    A group that fits goes to one node: where its own processes are, else where it fits best. One
    that does not is spread over as few as can be, the emptiest first. Nobody is left out: beyond
    what there is, all nodes are shared evenly.
    """
    left = [float(len(node)) for node in nodes]
    found = {name: [0.0] * len(nodes) for name in groups}
    # The largest first: small ones fit into what is left.
    for name in sorted(groups, key=lambda name: -groups[name].workers):
        group = groups[name]
        wanted = group.workers
        for place in _order(group, left, nodes):
            part = min(wanted, left[place])
            found[name][place] += part
            left[place] -= part
            wanted -= part
        for place in range(len(nodes)):  # there are no processors left for these
            found[name][place] += wanted * len(nodes[place]) / sum(map(len, nodes))
    return found


def _order(group: Group, left: Sequence[float], nodes: Sequence[frozenset[int]]) -> list[int]:
    """Return the nodes in the order in which a group should fill them."""
    allowed = [p for p in range(len(nodes)) if not group.processors or group.processors & nodes[p]]
    # Most of its own processors first; then, if it fits, where least is left over; else most room.
    return sorted(
        allowed,
        key=lambda p: (
            -len(group.processors & nodes[p]),
            left[p] < group.workers,
            left[p] if left[p] >= group.workers else -left[p],
        ),
    )
