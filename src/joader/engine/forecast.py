"""When each row will be asked for next, as far as the orders of jobs are known: for eviction.

Jobs whose sampler knows its future are looked at together, sampler by sampler. The unit is seconds,
the only one that jobs of different samplers have in common.
"""

from collections.abc import Hashable
from math import inf, isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from joader.engine.plan import Drawn
from joader.engine.reader import Reader
from joader.messages import Job
from joader.sampling import Foresees, Speed


class Forecast:
    """The readers whose orders are known, by their samplers."""

    def __init__(self) -> None:
        """Start without readers."""
        self._readers: dict[Foresees, dict[Job, Reader]] = {}
        self._sampler: dict[Job, Foresees] = {}

    def enter(self, reader: Reader) -> bool:
        """Include a reader if its order is known; tell whether it is."""
        self.leave(reader)
        plan = reader.plan
        if not isinstance(plan, Drawn) or not isinstance(plan.sampler, Foresees):
            return False
        self._readers.setdefault(plan.sampler, {})[reader.job] = reader
        self._sampler[reader.job] = plan.sampler
        return True

    def leave(self, reader: Reader) -> None:
        """Leave a reader out from now on."""
        sampler = self._sampler.pop(reader.job, None)
        if sampler is not None:
            del self._readers[sampler][reader.job]
            if not self._readers[sampler]:
                del self._readers[sampler]

    def seconds_until(self, homes: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
        """Return the seconds until each row is asked for, by its home.

        Infinite if no job will, NaN if only needs are known.
        """
        soonest = np.full(homes.size, np.inf)
        for sampler, readers in self._readers.items():
            recipe = next(iter(readers.values())).recipe
            rows = homes.astype(np.int64) - recipe.base
            # Samples of recipes that were left, or are raw forms, may be here, too.
            here = (rows >= 0) & (rows < recipe.row_limit)
            rows = rows[here]
            speeds = _speeds(readers)
            # A row that stands at several positions has several numbers.
            for times in range(max(reader.rows.most_times for reader in readers.values())):
                found = sampler.seconds_until(rows + times * recipe.row_limit, speeds)
                soonest[here] = np.minimum(soonest[here], found)
        return soonest

    def seconds_until_one(self, home: int) -> float:
        """Return the same for one row."""
        soonest = inf
        for sampler, readers in self._readers.items():
            recipe = next(iter(readers.values())).recipe
            row = home - recipe.base
            if 0 <= row < recipe.row_limit:
                speeds = _speeds(readers)
                for times in range(max(reader.rows.most_times for reader in readers.values())):
                    found = sampler.seconds_until_one(row + times * recipe.row_limit, speeds)
                    if isnan(found):
                        return found
                    soonest = min(soonest, found)
        return soonest


def _speeds(readers: dict[Job, Reader]) -> dict[Hashable, Speed]:
    return {
        reader.plan.name: Speed(reader.pace.per_s, len(reader.window.places), reader.terms.fresh)
        for reader in readers.values()
        if isinstance(reader.plan, Drawn) and reader.plan.is_drawing
    }
