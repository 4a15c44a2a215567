"""Policies that reserve a share for each claimant, wanted or not; for comparison.

`even`: everybody has the same part, A-Dloader's baseline. `proportional`: larger models have more,
as in A-Dloader's Fig. 3; the size of a model is the time that its jobs take for a sample.
`inverse`: smaller models have more, as in the same figure.
"""

from collections.abc import Sequence

from joader.schedule.shares.policies.need import Need, Policy, Shares, in_proportion


def even(needs: Sequence[Need], capacity: float) -> Shares:
    """Return equal parts of the capacity, whatever anybody wants."""
    return in_proportion([1.0] * len(needs), capacity)


EVEN = Policy("even", even, reserves=True)


def proportional(needs: Sequence[Need], capacity: float) -> Shares:
    """Return parts of the capacity in proportion to the time per sample."""
    return in_proportion([need.step_s for need in needs], capacity)


PROPORTIONAL = Policy("proportional", proportional, reserves=True)

# A job without a training step counts as the fastest that can be told from it.
_LEAST_S = 1e-6


def inverse(needs: Sequence[Need], capacity: float) -> Shares:
    """Return parts of the capacity in proportion to samples per second, if none had to wait."""
    speeds = [1.0 / max(_LEAST_S, need.step_s) for need in needs]
    return in_proportion(speeds, capacity)


INVERSE = Policy("inverse", inverse, reserves=True)
