"""The best number is found, whatever the curve, with errors, and again when the curve changes."""

from collections.abc import Callable
from random import Random

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from joader.schedule.limits.climb import Climb

Rate = Callable[[int], float]


def climbed(climb: Climb, rate: Rate, most: int = 64, times: int = 60, noise: float = 0.0) -> float:
    """Let it measure so often, every 0.2 s; return the mean rate over all that it tried."""
    draw, total = Random(5), 0.0
    for number in range(times):
        got = rate(climb.number)
        total += got
        climb.note(got * (1.0 + noise * draw.uniform(-1.0, 1.0)), 1, most, 0.2 * number)
    return total / times


def held(climb: Climb, rate: Rate, **more: float) -> int:
    """Return the number that is held in the end, between two looks at its neighbors."""
    climbed(climb, rate, **more)  # type: ignore[arg-type]
    while climb.searching:
        climb.note(rate(climb.number), 1, 64, 0.0)
    return climb.number


def peak(best: int) -> Rate:
    return lambda n: n if n <= best else best * (best / n)


@pytest.mark.parametrize("best", [1, 2, 3, 4, 7, 12, 20, 33, 64])
@pytest.mark.parametrize("start", [1, 4, 64])
def test_a_peak_is_found_from_anywhere(start: int, best: int) -> None:
    assert peak(best)(held(Climb(start), peak(best))) >= 0.85 * best


def test_of_numbers_that_give_the_same_few_are_enough() -> None:
    assert 20 <= held(Climb(64), lambda n: min(n, 20)) <= 24


def test_no_more_are_tried_than_can_be_had() -> None:
    tried = []

    def rate(number: int) -> float:
        tried.append(number)
        return number

    climbed(Climb(8), rate, most=8)
    assert max(tried) == 8
    climb = Climb(8)
    for number in range(30):
        climb.note(float(climb.number), 5, 8, 0.2 * number)
        assert 5 <= climb.number <= 8


def test_what_is_held_is_disturbed_less_and_less() -> None:
    climb = Climb(8)
    climbed(climb, peak(8), times=30)
    assert climbed(climb, peak(8), times=300) > 0.97 * 8


@pytest.mark.parametrize(("before", "after"), [(4, 20), (20, 4), (3, 64), (64, 2), (10, 14)])
def test_a_change_is_followed_within_a_dozen_looks(before: int, after: int) -> None:
    climb = Climb(16)
    climbed(climb, peak(before), times=80)
    assert peak(after)(held(climb, lambda n: 10 * peak(after)(n), times=12)) >= 0.8 * after


def test_a_rate_of_before_and_after_a_change_misleads_nobody() -> None:
    """A look that falls into the change shows half of each: nothing is measured by it."""
    climb = Climb(22)
    climbed(climb, lambda n: 50.0 * min(n, 20), times=80)
    while climb.searching:
        climb.note(50.0 * min(climb.number, 20), 1, 64, 0.0)
    climb.note(500.0, 1, 64, 0.0)
    assert held(climb, lambda n: 250.0 * peak(4)(n), times=20) in (3, 4, 5)


@pytest.mark.parametrize("half", [0.95, 1.0, 1.05])
def test_a_storage_that_struggles_is_asked_for_less_though_half_gives_no_more(half: float) -> None:
    """Far beyond the best number it may give the same for half as many, or a little less."""

    def turned(number: int) -> float:
        few = 160.0 * peak(4)(number)
        return few if number < 16 else 160.0 * half ** (number < 24)

    climb = Climb(32)
    climbed(climb, lambda n: 50.0 * min(n, 16), times=80)
    climb.number = climb._best = 32
    assert held(climb, turned, times=8) in (3, 4, 5)


def test_a_change_in_the_middle_of_a_search_is_noticed_there() -> None:
    climb = Climb(24)
    climb.note(800.0, 1, 64, 0.0)
    assert climb.number == 19
    for _ in range(12):  # from now on few are best; 19 give less than a third of what 24 gave
        climb.note(200.0 * peak(4)(climb.number), 1, 64, 0.0)
    assert held(climb, lambda n: 200.0 * peak(4)(n), times=1) in (3, 4, 5)


@settings(deadline=None, max_examples=60)
@given(
    best=st.integers(1, 60),
    steep=st.floats(0.0, 3.0),
    start=st.integers(1, 64),
    seed=st.integers(0, 1 << 30),
)
def test_most_of_the_best_is_had_with_errors_of_a_twentieth(
    best: int, steep: float, start: int, seed: int
) -> None:
    def rate(number: int) -> float:
        return number if number <= best else best * (best / number) ** steep

    climb, draw, total = Climb(start), Random(seed), 0.0
    for place in range(200):
        got = rate(climb.number)
        total += got if place >= 40 else 0.0
        climb.note(got * (1.0 + 0.05 * draw.uniform(-1.0, 1.0)), 1, 64, 0.2 * place)
    assert total / 160 >= 0.8 * best
