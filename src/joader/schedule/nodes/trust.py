"""Which nodes have shown that they prepare the same: a path may mean another file there.

A recipe has one name on all machines (code, state and paths are equal), but the files behind the
paths may differ. So the first rows of a recipe that another node could send are
prepared here, too, and compared by what they are; FIRST equal ones make the node trusted with that
recipe, and after that one in LATER is compared. One that differs ends it for good. So samples
of a dataset with random code are not taken from other nodes, unless no difference shows.

Values in, values out: the answer for each row says whether to compare it.
"""

from dataclasses import dataclass
from typing import Literal

FIRST = 64
LATER = 10_000

Word = Literal["compare", "wait", "fetch", "never"]


@dataclass
class _Standing:
    begun: int = 0  # comparisons
    same: int = 0
    fetched: int = 0
    differs: bool = False


class Trust:
    """What is known of other nodes, by recipe."""

    def __init__(self, first: int = FIRST, later: int = LATER) -> None:
        """Start with no node known."""
        self._first, self._later = first, later
        self._standings: dict[tuple[str, str], _Standing] = {}

    def next(self, recipe: str, node: str, row_limit: int) -> Word:
        """Say what to do with the next row that a node could send.

        A dataset with fewer rows is compared as a whole. "wait": enough is compared just now, so
        the row is prepared here.
        """
        one = self._standings.setdefault((recipe, node), _Standing())
        if one.differs:
            return "never"
        if one.begun < min(self._first, row_limit):
            one.begun += 1
            return "compare"
        if one.same < min(self._first, row_limit):
            return "wait"
        one.fetched += 1
        return "compare" if one.fetched % self._later == 0 else "fetch"

    def compared(self, recipe: str, node: str, same: bool) -> None:
        """Note how a comparison came out."""
        one = self._standings.setdefault((recipe, node), _Standing())
        one.same += same
        one.differs = one.differs or not same

    def not_compared(self, recipe: str, node: str) -> None:
        """Note that a comparison came to nothing: another row is compared instead."""
        one = self._standings.get((recipe, node))
        if one is not None and one.begun > one.same:
            one.begun -= 1

    def is_trusted(self, recipe: str, node: str, row_limit: int) -> bool:
        """Tell whether enough was compared, and nothing differed."""
        one = self._standings.get((recipe, node))
        return one is not None and not one.differs and one.same >= min(self._first, row_limit)

    def differs(self, recipe: str, node: str) -> bool:
        """Tell whether a sample of a node has differed."""
        one = self._standings.get((recipe, node))
        return one is not None and one.differs

    def forget(self, node: str) -> None:
        """Forget a node that has gone: the next one of its name may have other files."""
        for key in [key for key in self._standings if key[1] == node]:
            del self._standings[key]
