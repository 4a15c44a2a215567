"""`fair`, the default: weighted max–min, with demand as the cap.

All claimants get the same per weight, but for those that want less: they get all that they want,
and what they leave is divided again among the others. So none can get more except from one that has
less for its weight.
"""

from collections.abc import Sequence

from joader.schedule.shares.policies.need import Need, Policy, Shares


def fair(needs: Sequence[Need], capacity: float) -> Shares:
    """Return shares, the least of them for its weight as large as it can be, then the next."""
    shares = [0.0] * len(needs)
    left, weight = capacity, sum(need.weight for need in needs)
    # In order of what they want per weight: so what is left for the others is known.
    for place in sorted(range(len(needs)), key=lambda p: needs[p].demand / needs[p].weight):
        need = needs[place]
        # The last gets what is left, whatever was lost in rounding.
        level = left / weight if weight > need.weight else left / need.weight
        shares[place] = min(need.demand, level * need.weight)
        left, weight = max(0.0, left - shares[place]), weight - need.weight
    return shares


FAIR = Policy("fair", fair)
