"""What may be a weight."""

import math
from fractions import Fraction

import numpy as np
import pytest

from joader.errors import BadArgument
from joader.schedule.shares.weight import checked_weight


@pytest.mark.parametrize("good", [1, 0.001, 1000, 2.5, Fraction(1, 2), np.float32(3)])
def test_numbers_within_reason_are_weights(good: object) -> None:
    assert checked_weight(good) == float(good)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf, "2", None, True, 1e-9, 1e9, 2j])
def test_all_else_is_refused_with_what_is_allowed(bad: object) -> None:
    with pytest.raises(BadArgument, match=r"it is a number from 0\.001 to 1000"):
        checked_weight(bad)
