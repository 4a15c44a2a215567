"""Who else wants the processors."""

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from joader.schedule.limits.crowd import Crowd


def felt(processors: int, workers: int, others: int) -> Crowd:
    """Return what workers feel if the kernel gives each that wants a processor the same."""
    crowd, part = Crowd(processors), min(1.0, processors / (workers + others))
    for _ in range(300):
        crowd.note(0.04 * part, 0.04 * (1 - part), workers)
    return crowd


@settings(deadline=None)
@given(processors=st.integers(1, 64), workers=st.integers(1, 64))
def test_workers_in_line_for_each_other_are_no_crowd(processors: int, workers: int) -> None:
    assert felt(processors, workers, 0).others == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize(("processors", "others"), [(2, 1), (2, 3), (4, 4), (8, 12)])
def test_each_process_beside_as_many_workers_as_processors_is_seen(
    processors: int, others: int
) -> None:
    assert felt(processors, processors, others).others == pytest.approx(others, rel=0.01)


def test_more_workers_do_not_make_a_larger_crowd() -> None:
    assert felt(2, 5, 3).others == pytest.approx(3.0, rel=0.01)


def test_it_has_an_end_and_starts_with_nobody() -> None:
    assert felt(2, 2, 1000).others == 6.0
    assert Crowd(2).others == 0.0
    assert felt(2, 1, 0).others == 0.0
