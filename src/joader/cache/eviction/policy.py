"""The interface of all policies.

A policy ranks the samples of one size that could leave now: ready, and pinned by nobody. It knows
them by their numbers in the table, and looks up there and in the demand what it needs. Only the
cache calls it, and adds and discards a sample in turn, so a policy checks nothing. The same calls
give the same order on any machine.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from joader.cache.demand import Demand
from joader.cache.table import Table


class Known(NamedTuple):
    """What a policy may look at."""

    table: Table
    demand: Demand


class Policy(Protocol):
    """Decide which sample leaves first."""

    def add_each(self, samples: Sequence[int]) -> None:
        """Note that samples could leave from now on."""
        ...

    def discard_each(self, samples: Sequence[int]) -> None:
        """Note that samples cannot leave any more: they are pinned, or gone."""
        ...

    def change_each(self, samples: Sequence[int]) -> None:
        """Note that others need these samples than before."""
        return None

    def victims(self, count: int) -> list[int]:
        """Return the samples that leave first, as many as there are; they stay for now."""
        ...

    def rank(self) -> int:
        """Return how much it costs to lose the first to leave, to compare sizes by: less first."""
        return 0


# A policy for the samples of each size.
MakePolicy = Callable[[Known], Policy]
