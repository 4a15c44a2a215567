"""A simulated machine with the code that serves jobs, beside plain shares over time."""

import pytest

from joader.schedule.shares.policies import policy_of
from papers.figures import (
    adloader_dynamic,
    adloader_jobs,
)


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["even", "fair"])
def test_a_machine_with_engine_and_dispatch_takes_as_long_as_shares_over_time(policy: str) -> None:
    machine = adloader_dynamic.on_a_machine(policy, 64, 0)
    shares = adloader_jobs.times(adloader_jobs.run(policy_of(policy).shares))
    assert machine.makespan_s == pytest.approx(shares.makespan_s, rel=0.02)
    assert machine.latency_s == pytest.approx(shares.latency_s, rel=0.03)
