"""Filling the memory of many nodes: which rows are kept where, and whether before the first pass.

What a node keeps is a pure function of homes and room, so no directory has to be sent around: every
node knows what every other holds once it is full, and nothing is replaced after that.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from joader.schedule.nodes.assignment import NOBODY


def holders(homes: ArrayLike, room: Sequence[int]) -> NDArray[np.int64]:
    """Return who keeps each row: its home, as long as that has room; else NOBODY.

    `homes` are in the order of the rows' numbers, and the first come first: a node that gets more
    room keeps what it has.
    """
    home = np.asarray(homes, np.int64)
    order = np.argsort(home, kind="stable")
    counts = np.bincount(home, minlength=len(room))
    starts = np.cumsum(counts) - counts
    place = np.empty(home.size, np.int64)  # of each row among those of its home
    place[order] = np.arange(home.size) - np.repeat(starts, counts)
    return np.where(place < np.asarray(room, np.int64)[home], home, NOBODY)


@dataclass(frozen=True)
class FirstPass:
    """What a first pass meets, in rows per second of all nodes together."""

    rows: int
    training: float
    random_reads: float  # in the order of the pass
    ordered_reads: float  # in the order in which they are stored

    @property
    def during_s(self) -> float:
        """How long the pass takes if rows are kept as they come."""
        return self.rows / min(self.training, self.random_reads)

    @property
    def before_s(self) -> float:
        """How long it takes to fill memory in the order of storage, and then to train."""
        return self.rows / self.ordered_reads + self.rows / self.training

    @property
    def fill_before(self) -> bool:
        """Whether memory is better filled before the pass: reads in order are that much faster."""
        return self.before_s < self.during_s
