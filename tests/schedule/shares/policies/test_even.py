"""Equal parts, whatever anybody wants."""

import math

import pytest

from joader.schedule.shares.policies.even import EVEN
from joader.schedule.shares.policies.need import Need


def test_neither_demand_nor_weight_nor_model_changes_a_part() -> None:
    needs = [Need(0.1), Need(math.inf, weight=9.0), Need(step_s=1.0)]
    assert EVEN.shares(needs, 6.0) == pytest.approx([2, 2, 2])
    assert EVEN.shares([], 6.0) == []
    assert EVEN.reserves
