"""Expected use: the sample that will be asked for latest, as far as is known, leaves first.

Samples that no job needs leave before all others, then copies of what another node keeps: losing
one costs a transfer, losing the last copy of a cluster a preparation. *Unplanned* ones leave before
all planned ones, the least expected first: they are asked for at the sum of speed_j / |unread_j|
over the jobs j that need them. *Planned* ones, whose next use is known, leave in the order of their
use, farthest first. Times to need fall into buckets, STEPS to a factor of two. If another
order of use is known, this is the one function to change.
"""

from math import floor, log2

import numpy as np

from joader.cache.eviction.buckets import Buckets
from joader.cache.eviction.policy import Known

STEPS = 8
# Rates from once in 36,000 years to a million a second.
_LEAST, _MOST = -40 * STEPS, 20 * STEPS
_NEVER = 2.0**-40
_LAST_COPY = _MOST - _LEAST + 2  # more than all copies have
_PLANNED = 1 << 40  # less the tick: more than all others
# Up to this number samples are ranked one by one: arrays cost more.
FEW = 8


class ExpectedUse(Buckets):
    """Lowest rate of expected requests first; known next uses last, the farthest first."""

    def __init__(self, known: Known) -> None:
        """Start empty."""
        super().__init__(known, _expected)


def _expected(known: Known, samples: list[int]) -> list[int]:
    demand, plans = known.demand, known.demand.plans
    if len(samples) <= FEW and not demand.weigh:
        homes = [known.table.home.cells[sample] for sample in samples]
        copied = known.table.copied.cells
        ranks = [
            _rank(demand.rate_of(home), copied[sample])
            for home, sample in zip(homes, samples, strict=True)
        ]
    else:
        array = known.table.home.all[samples]
        rates = demand.rates(array)
        if demand.weigh:
            demand.weigh(samples, rates)
        steps = np.floor(STEPS * np.log2(np.maximum(rates, _NEVER)))
        some = np.minimum(steps, _MOST).astype(np.int64) - _LEAST + 1
        some += _LAST_COPY * (known.table.copied.all[samples] == 0)
        some[rates == 0] = 0
        homes, ranks = array.tolist(), some.tolist()
    if plans:
        for place, home in enumerate(homes):
            if (tick := plans.get(home)) is not None:
                ranks[place] = _PLANNED - tick
    return ranks


def _rank(rate: float, copied: int) -> int:
    if not rate:
        return 0
    rank = min(floor(STEPS * log2(max(rate, _NEVER))), _MOST) - _LEAST + 1
    return rank if copied else rank + _LAST_COPY
