"""Who gets how much worker time: one rule per file, each a pure function of needs and capacity.

A *need* is what one claimant wants; a share is worker-seconds per second, and need not be whole.
A policy that *reserves* leaves a share unused that its claimant does not want; under the others,
whoever still wants gets what is left, so their shares say who comes first when all want more.
Invariant: the shares of a policy add up to the capacity at most, and to that or to all demands,
whichever is less, if it does not reserve.

Reading order: `need`, `fair` (the default), `throughput` (A-Dloader's), and for comparison
`proportional` (with even and inverse shares). Not here: how needs are measured (demand.py), what is
done with shares (allocation.py).
"""

from collections.abc import Mapping

from joader.errors import BadArgument
from joader.schedule.shares.policies.fair import FAIR
from joader.schedule.shares.policies.need import Need, Policy
from joader.schedule.shares.policies.proportional import EVEN, INVERSE, PROPORTIONAL
from joader.schedule.shares.policies.throughput import THROUGHPUT

POLICIES: Mapping[str, Policy] = {
    policy.name: policy for policy in (FAIR, THROUGHPUT, EVEN, PROPORTIONAL, INVERSE)
}

__all__ = ["FAIR", "POLICIES", "Need", "Policy", "policy_of"]


def policy_of(name: str) -> Policy:
    """Return the policy of this name; BadArgument names those that there are."""
    if name not in POLICIES:
        raise BadArgument(f"there is no policy {name!r}; use one of {', '.join(POLICIES)}")
    return POLICIES[name]
