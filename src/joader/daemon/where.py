"""The homes of rows: nodes that are there and can prepare them, as far as this one has heard.

Nodes with the same information agree on every row without talking (schedule/nodes/placement.py).
"""

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from joader.daemon.clocks import Clocks
from joader.daemon.holdings import Holdings
from joader.daemon.leaving import Leaving
from joader.daemon.rank_host import Homes
from joader.daemon.registration import Registration
from joader.messages.nodes import Members, Node
from joader.schedule.nodes import placement


class Location(NamedTuple):
    """Which node to ask for a row; `instead` is asked while the first is not trusted yet."""

    node: str
    moves: bool = False  # its home is here now; the node is its former home
    instead: str = ""


class Where:
    """The homes of all recipes."""

    def __init__(
        self,
        node: Node,
        *,
        clocks: Clocks,
        registration: Registration,
        leaving: Leaving,
        holdings: Holdings,
    ) -> None:
        """Start with this node alone."""
        self.members = Members(0, (node,))
        self.able: dict[str, frozenset[str]] = {}  # by other node: recipes that it can prepare
        self.keep: dict[str, frozenset[str]] = {}  # those of which it only has samples left
        self._holdings = holdings
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

    def places(
        self,
        recipe: str,
        rows: Sequence[int],
        is_trusted: Callable[[str], bool],
        *,
        for_guest: bool,
    ) -> list[Location | None] | None:
        """Return which node to ask for each row, None for rows to prepare here; None for all rows.

        A row that another node asks for (`for_guest`) is prepared here unless its former home has
        it, even if its home is elsewhere; otherwise nodes could wait for each other in a circle.
        """
        before = self._holdings.holders(recipe, rows)
        homes = before_salt = instead = [self._name] * len(rows)
        others = self.others(recipe)
        if others:
            cluster, able = self.cluster(), others | {self._name}
            names = [node.name for node in cluster]

            def drawn(able: Collection[str], salt: int) -> list[str]:
                return [names[at] for at in placement.homes(rows, cluster, able, salt).tolist()]

            salt, is_new = self._clocks.salt(recipe)
            if not for_guest:
                homes = drawn(able, salt)
            if is_new:
                before_salt = drawn(able, salt - 1)
            trusted = set(filter(is_trusted, others))
            if trusted and trusted < others:
                instead = drawn(trusted | {self._name}, salt)
        elif not any(before):
            return None
        return [
            self._place(home, held or drawn_before, other)
            for home, held, drawn_before, other in zip(
                homes, before, before_salt, instead, strict=True
            )
        ]

    def _place(self, home: str, before: str, instead: str) -> Location | None:
        if home == self._name:
            return Location(before, moves=True) if before != self._name else None
        return Location(home, instead="" if instead in (home, self._name) else instead)

    def now(self, recipe: str) -> Homes:
        """Return all that the homes of a recipe depend on, to announce to others."""
        able = self.others(recipe)
        if self._registration.host_of(recipe) is not None and not self._leaving.begun:
            able.add(self._name)
        cores = tuple((node.name, node.cores) for node in self.cluster())
        salt, _ = self._clocks.salt(recipe)
        return Homes(self.members.version, cores, tuple(sorted(able)), salt)
