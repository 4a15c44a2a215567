"""Who gets how much worker time: one rule per file, each a pure function of needs and capacity.

A *need* is what one claimant wants; a share is worker-seconds per second, and need not be whole.
A policy that *reserves* leaves a share unused that its claimant does not want; under the others,
claimants that still want more get what is left, so shares say who comes first when all want more.
Invariant: the shares of a policy add up to at most the capacity; if it does not reserve, to the
capacity or to the sum of all demands, whichever is less.

Reading order: `need`, `fair` (the default), `throughput` (A-Dloader's), and for comparison
`reserved`. Not here: how needs are measured (demand.py), what is done with shares (allocation.py).
"""

from collections.abc import Mapping

from joader.errors import BadArgument
from joader.schedule.shares.policies.fair import FAIR
from joader.schedule.shares.policies.need import Need, Policy
from joader.schedule.shares.policies.reserved import EVEN, INVERSE, PROPORTIONAL
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
