"""Workloads at random."""

import pytest

from joader.errors import BadArgument
from joader.simulator.machine.drawn import drawn
from joader.simulator.machine.workload import checked


def test_a_workload_at_random_is_the_same_for_one_seed_and_can_be_played() -> None:
    assert drawn(3, 12) == drawn(3, 12)
    assert drawn(3, 12) != drawn(4, 12)
    assert checked(drawn(3, 12)).jobs[0].arrival_s == 0.0
    with pytest.raises(BadArgument, match="draw from 1 to 64"):
        drawn(0, 100)
