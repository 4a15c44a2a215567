"""Expected use: the sample that will be asked for latest, as far as is known, leaves first.

Samples that nobody needs leave before all others. *Unplanned* ones leave before all planned ones,
the least expected first: they are asked for at the sum of speed_j / |unread_j| over the jobs j that
need them. *Planned* ones, whose next use is known, leave in the order of their use, farthest first.
Times to need fall into buckets, STEPS to a factor of two. Where another order of use is known, this
is the one function to change.
"""

import numpy as np
from numpy.typing import NDArray

from joader.cache.eviction.buckets import Buckets, Ranks
from joader.cache.eviction.policy import Known

STEPS = 8
# Rates from once in 36,000 years to a million a second.
_LEAST, _MOST = -40 * STEPS, 20 * STEPS
_PLANNED = 1 << 40  # less the tick: more than all others


class ExpectedUse(Buckets):
    """Lowest rate of expected requests first; known next uses last, the farthest first."""

    def __init__(self, known: Known) -> None:
        """Start empty."""
        super().__init__(known, _expected)


def _expected(known: Known, samples: NDArray[np.int64]) -> Ranks:
    homes = known.table.home.all[samples]
    rates = known.demand.rates(homes)
    with np.errstate(divide="ignore"):
        steps = np.floor(STEPS * np.log2(rates))
    ranks: Ranks = np.clip(steps, _LEAST, _MOST).astype(np.int64) - _LEAST + 1
    ranks[known.demand.counts(homes) == 0] = 0
    plans = known.demand.plans
    if plans:
        for place, home in enumerate(homes.tolist()):
            if (tick := plans.get(home)) is not None:
                ranks[place] = _PLANNED - tick
    return ranks
