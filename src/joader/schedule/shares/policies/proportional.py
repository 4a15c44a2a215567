"""`proportional`: larger models have more reserved, as in A-Dloader's Fig. 3; for comparison.

The size of a model is the time that its jobs take for a sample.

`even`: everybody has the same part reserved, wanted or not, as A-Dloader's baseline has it.

`inverse`: smaller models have more reserved, as in A-Dloader's Fig. 3; for comparison.
"""

from collections.abc import Sequence

from joader.schedule.shares.policies.need import Need, Policy, Shares, in_proportion

# A job without a training step counts as the fastest that can be told from it.
_LEAST_S = 1e-6


def inverse(needs: Sequence[Need], capacity: float) -> Shares:
    """Return parts of the capacity in proportion to samples per second, if none had to wait."""
    speeds = [1.0 / max(_LEAST_S, need.step_s) for need in needs]
    return in_proportion(speeds, capacity)


INVERSE = Policy("inverse", inverse, reserves=True)


def even(needs: Sequence[Need], capacity: float) -> Shares:
    """Return equal parts of the capacity, whatever anybody wants."""
    return in_proportion([1.0] * len(needs), capacity)


EVEN = Policy("even", even, reserves=True)


def proportional(needs: Sequence[Need], capacity: float) -> Shares:
    """Return parts of the capacity in proportion to the time per sample."""
    return in_proportion([need.step_s for need in needs], capacity)


PROPORTIONAL = Policy("proportional", proportional, reserves=True)
