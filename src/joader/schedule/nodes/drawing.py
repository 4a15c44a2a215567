"""Which node draws for all jobs that draw jointly: one that does already, or else the oldest."""

from collections.abc import Mapping, Sequence


def drawer(nodes: Sequence[str], said: Mapping[str, bool]) -> str:
    """Return the node that draws for a recipe; empty: none can.

    `nodes` in the order in which they joined, the same on all of them. `said`: the nodes that can,
    and whether each draws for others now: coupled jobs stay together when a node joins.
    """
    able = [node for node in nodes if node in said]
    return min(able, key=lambda node: not said[node], default="")
