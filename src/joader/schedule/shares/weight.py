"""The weight of a job relative to others, and which values are allowed."""

import math
from numbers import Real

from joader.errors import BadArgument

LEAST, MOST = 0.001, 1000.0


def checked_weight(value: object) -> float:
    """Return a weight as a number; BadArgument says what is allowed."""
    good = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    if not good or not LEAST <= float(value) <= MOST:  # type: ignore[arg-type]
        raise BadArgument(
            f"weight is {value!r}; it is a number from {LEAST:g} to {MOST:g}, and 1 by default: a "
            "job with weight 2 gets twice what one with weight 1 gets, if both want more"
        )
    return float(value)  # type: ignore[arg-type]
