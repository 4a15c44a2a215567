"""`throughput`: A-Dloader's worker allocation (WAA, its Algorithm 1): most samples per second.

Everybody starts with what it wants, rounded up to whole units. While that is more than there is,
one unit is taken from the claimant that loses the fewest samples per second by it; none falls below
one unit. The paper takes from the most over-provisioned first, and then from each in turn: that is
the same if all rows cost the same. If they do not, cheap rows come first: losses per unit only
grow, so the greedy choice is optimal. Of two that lose the same, it is taken from the one that has
lost fewer units so far. (The paper's test for the end, `sum < C`, must be `<=`.)

A sample counts as much as the weight of its job. Not fair: a claimant with expensive rows starves
to one unit. The paper's unit is a whole worker; in a common pool a share need not be whole.
"""

import math
from collections.abc import Sequence
from heapq import heapify, heappop, heapreplace

from joader.schedule.shares.policies.need import Need, Policy, Shares, least_share


def throughput(needs: Sequence[Need], capacity: float) -> Shares:
    """Return shares in small units."""
    if not needs:
        return []
    unit = least_share(len(needs), capacity)
    return [unit * count for count in whole_units(needs, capacity, unit)]


def whole_units(needs: Sequence[Need], capacity: float, unit: float = 1.0) -> list[int]:
    """Return how many units each gets; one at least, even if there are fewer than claimants."""
    most = max(len(needs), int(capacity / unit + 1e-9))
    # A unit that nobody can give is never worth starting from: demand may be infinite.
    units = [max(1, math.ceil(min(need.demand / unit, most) - 1e-9)) for need in needs]
    excess = sum(units) - most
    queue = [(_loss(needs[i], units[i], unit), 0, i) for i in range(len(needs)) if units[i] > 1]
    heapify(queue)
    while excess > 0 and queue:
        _, taken, place = queue[0]
        units[place] -= 1
        excess -= 1
        if units[place] > 1:
            loss = _loss(needs[place], units[place], unit)
            heapreplace(queue, (loss, taken + 1, place))
        else:
            heappop(queue)
    return units


def _loss(need: Need, units: int, unit: float) -> float:
    """Return how many samples per second, by weight, are lost with the last of `units`."""
    lost = min(need.demand, units * unit) - min(need.demand, (units - 1) * unit)
    # Rounded, so that equal losses are equal whatever they were worked out from.
    return float(f"{lost * need.weight / need.row_s:.9g}")


THROUGHPUT = Policy("throughput", throughput)
