"""The interface of all policies.

A policy ranks the samples of one size that could leave now: ready, and not pinned. It knows
them by their numbers in the table, and looks up there and in the demand what it needs. Only the
cache calls it, and adds and discards a sample in turn, so a policy checks nothing. The same calls
give the same order on any machine.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from joader.cache.demand import Demand
from joader.cache.table import Table


@dataclass(frozen=True, slots=True)
class Known:
    """What the policies of one cache may read, and share."""

    table: Table
    demand: Demand
    # Samples of all sizes that wait for a rank, and their policies: they are ranked together once
    # one has to leave, because ranking a few of each size costs several times as much.
    unranked: dict[int, "Policy"] = field(default_factory=dict)


class Policy(Protocol):
    """Decide which sample leaves first."""

    def add_each(self, samples: Sequence[int]) -> None:
        """Note that samples could leave from now on."""
        ...

    def discard_each(self, samples: Sequence[int]) -> None:
        """Note that samples cannot leave any more: they are pinned, or gone."""
        ...

    def change_each(self, samples: Sequence[int]) -> None:
        """Note that the needs of these samples have changed."""
        return None

    def victims(self, count: int) -> list[int]:
        """Return the samples that leave first, as many as there are; they stay for now."""
        ...

    def set_ranks(self, samples: Sequence[int], ranks: Sequence[int]) -> None:
        """Take in the ranks of samples that waited for one."""
        return None

    def rank(self) -> int:
        """Return how much it costs to lose the first to leave, to compare sizes by: less first."""
        return 0

    def rank_of(self, sample: int) -> int:
        """Return how much it would cost to lose a sample that is not among these."""
        return 0


# A policy for the samples of each size.
MakePolicy = Callable[[Known], Policy]
