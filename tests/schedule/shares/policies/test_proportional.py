"""Larger models have more reserved."""

import pytest

from joader.schedule.shares.policies.need import Need
from joader.schedule.shares.policies.proportional import PROPORTIONAL


def test_parts_are_in_proportion_to_the_time_of_a_step() -> None:
    needs = [Need(step_s=0.03), Need(step_s=0.01)]
    assert PROPORTIONAL.shares(needs, 8.0) == pytest.approx([6, 2])
    assert PROPORTIONAL.reserves


def test_jobs_that_have_no_step_yet_divide_all_evenly() -> None:
    assert PROPORTIONAL.shares([Need(), Need()], 8.0) == pytest.approx([4, 4])
