"""Which node draws for all jobs that draw jointly: one that does so already, or who came first."""

from collections.abc import Mapping, Sequence


def drawer(nodes: Sequence[str], said: Mapping[str, bool]) -> str:
    """Return the node that draws for a recipe; empty: none can.

    `nodes` in the order in which they came, the same on all of them. `said`: who can, and whether
    it draws for other nodes now: jobs that are coupled stay together, whoever comes.
    """
    able = [node for node in nodes if node in said]
    return min(able, key=lambda node: not said[node], default="")
