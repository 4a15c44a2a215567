"""What is reserved: equal parts, more for larger models, or more for smaller ones."""

import math

import pytest

from joader.schedule.shares.policies.need import LEAST_PART, Need
from joader.schedule.shares.policies.reserved import EVEN, INVERSE, PROPORTIONAL


def test_parts_are_in_proportion_to_the_time_of_a_step() -> None:
    needs = [Need(step_s=0.03), Need(step_s=0.01)]
    assert PROPORTIONAL.shares(needs, 8.0) == pytest.approx([6, 2])
    assert PROPORTIONAL.reserves


def test_jobs_that_have_no_step_yet_divide_all_evenly() -> None:
    assert PROPORTIONAL.shares([Need(), Need()], 8.0) == pytest.approx([4, 4])


def test_neither_demand_nor_weight_nor_model_changes_a_part() -> None:
    needs = [Need(0.1), Need(math.inf, weight=9.0), Need(step_s=1.0)]
    assert EVEN.shares(needs, 6.0) == pytest.approx([2, 2, 2])
    assert EVEN.shares([], 6.0) == []
    assert EVEN.reserves


def test_parts_are_in_proportion_to_samples_per_second() -> None:
    assert INVERSE.shares([Need(step_s=0.03), Need(step_s=0.01)], 8.0) == pytest.approx([2, 6])
    assert INVERSE.reserves


def test_a_job_without_a_step_is_the_fastest_and_leaves_the_least_part_to_others() -> None:
    least = 8.0 * LEAST_PART
    needs = [Need(step_s=0.0), Need(step_s=0.01)]
    assert INVERSE.shares(needs, 8.0) == pytest.approx([8.0 - least, least])
