"""`proportional`: larger models have more reserved, as in A-Dloader's Fig. 3; for comparison.

The size of a model is the time that its jobs take for a sample.
"""

from collections.abc import Sequence

from joader.schedule.shares.policies.need import Need, Policy, Shares, in_proportion


def proportional(needs: Sequence[Need], capacity: float) -> Shares:
    """Return parts of the capacity in proportion to the time per sample."""
    return in_proportion([need.step_s for need in needs], capacity)


PROPORTIONAL = Policy("proportional", proportional, reserves=True)
