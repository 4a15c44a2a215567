"""Smaller models have more reserved."""

import pytest

from joader.schedule.shares.policies.inverse import INVERSE
from joader.schedule.shares.policies.need import LEAST_PART, Need


def test_parts_are_in_proportion_to_samples_per_second() -> None:
    assert INVERSE.shares([Need(step_s=0.03), Need(step_s=0.01)], 8.0) == pytest.approx([2, 6])
    assert INVERSE.reserves


def test_a_job_without_a_step_is_the_fastest_and_leaves_the_least_part_to_others() -> None:
    least = 8.0 * LEAST_PART
    needs = [Need(step_s=0.0), Need(step_s=0.01)]
    assert INVERSE.shares(needs, 8.0) == pytest.approx([8.0 - least, least])
