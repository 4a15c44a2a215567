"""`even`: everybody has the same part reserved, wanted or not, as A-Dloader's baseline has it."""

from collections.abc import Sequence

from joader.schedule.shares.policies.need import Need, Policy, Shares, in_proportion


def even(needs: Sequence[Need], capacity: float) -> Shares:
    """Return equal parts of the capacity, whatever anybody wants."""
    return in_proportion([1.0] * len(needs), capacity)


EVEN = Policy("even", even, reserves=True)
