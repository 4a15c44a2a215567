"""Where rows live now: at nodes that are there and can prepare them, by what this one has heard.

Nodes that have heard the same agree on every row without talking (schedule/nodes/placement.py).
"""

from collections.abc import Sequence

import numpy as np

from joader.daemon.clocks import Clocks
from joader.daemon.leaving import Leaving
from joader.daemon.rank_host import Homes
from joader.daemon.registration import Registration
from joader.messages.nodes import Members, Node
from joader.schedule.nodes import placement


class Where:
    """The homes of all recipes."""

    def __init__(
        self, node: Node, clocks: Clocks, registration: Registration, leaving: Leaving
    ) -> None:
        """Know of this node alone."""
        self.members = Members(0, (node,))
        self.able: dict[str, frozenset[str]] = {}  # by other node: recipes that it can prepare
        self._name, self._clocks = node.name, clocks
        self._registration, self._leaving = registration, leaving

    def cluster(self) -> list[placement.Node]:
        """Return all nodes in an order that is the same on all of them."""
        nodes = sorted(self.members.nodes, key=lambda node: node.name)
        return [placement.Node(node.name, max(1, node.cores)) for node in nodes]

    def others(self, recipe: str) -> set[str]:
        """Return which other nodes can prepare a recipe."""
        able = {name for name, recipes in self.able.items() if recipe in recipes}
        return able & {node.name for node in self.members.nodes}

    def homes(self, recipe: str, rows: Sequence[int]) -> list[Node] | None:
        """Return where to ask for each row; None if all are to be prepared here."""
        others = self.others(recipe)
        if not others:
            return None
        cluster, able = self.cluster(), others | {self._name}
        salt, is_new = self._clocks.salt(recipe)
        found = placement.homes(rows, cluster, able, salt)
        if is_new:  # a row that lives here since then is still where it lived before
            here = [node.name for node in cluster].index(self._name)
            before = placement.homes(rows, cluster, able, salt - 1)
            found = np.where(found == here, before, found)
        nodes = {node.name: node for node in self.members.nodes}
        return [nodes[cluster[at].name] for at in found.tolist()]

    def now(self, recipe: str) -> Homes:
        """Return all that homes of a recipe depend on, for others to know."""
        able = self.others(recipe)
        if self._registration.host_of(recipe) is not None and not self._leaving.begun:
            able.add(self._name)
        cores = tuple((node.name, node.cores) for node in self.cluster())
        salt, _ = self._clocks.salt(recipe)
        return Homes(self.members.version, cores, tuple(sorted(able)), salt)
