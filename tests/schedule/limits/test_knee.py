"""Where more workers stop paying."""

import hypothesis.strategies as st
from hypothesis import given, settings

from joader.schedule.limits.knee import Knee


def learned(costs: dict[int, float], code: str = "a") -> Knee:
    knee = Knee()
    for running, row_s in costs.items():
        for _ in range(20):
            knee.note(code, running, 10, 10 * row_s)
    return knee


def test_what_is_not_known_is_tried() -> None:
    assert Knee().knee(8) == 8
    assert learned({2: 0.01}).knee(8) == 8


def test_processors_that_do_not_disturb_each_other_are_all_used() -> None:
    knee = learned(dict.fromkeys(range(1, 9), 0.003))
    assert knee.knee(8) == 8
    assert knee.rates(8) == [1, 2, 3, 4, 5, 6, 7, 8]


def test_a_peak_is_found_as_in_lobsters_figure() -> None:
    """Six threads there: each further one makes all others so much slower."""
    peak = {n: 0.01 * n / min(n, 6 - 0.1 * max(0, n - 6)) for n in range(1, 17)}
    assert learned(peak).knee(16) == 6


def test_a_plateau_is_not_climbed_to_its_end() -> None:
    """A-Dloader's saturation: 24 workers do what 40 do."""
    costs = {n: 0.01 * max(1.0, n / 24) for n in range(1, 41)}
    assert learned(costs).knee(40) == 24


def test_numbers_that_were_never_seen_between_two_are_interpolated() -> None:
    knee = learned({1: 0.01, 4: 0.0133})
    assert [round(cost, 2) for cost in knee.costs(4)] == [1.0, 1.1, 1.21, 1.33]


def test_another_recipe_is_not_taken_for_contention() -> None:
    knee = learned({1: 0.001})
    for _ in range(20):
        knee.note("b", 2, 10, 10 * 0.1)
    assert knee.knee(2) == 2
    knee.forget("b")
    assert knee.costs(2) == [1.0, 1.0]


def test_a_few_reports_say_nothing() -> None:
    knee = learned({1: 0.01})
    knee.note("a", 2, 10, 10.0)
    assert knee.knee(2) == 2


@settings(deadline=None)
@given(
    row_s=st.floats(1e-4, 1e-1),
    growth=st.lists(st.floats(0.0, 0.5), min_size=1, max_size=12),
)
def test_the_knee_gives_all_but_a_little_of_the_best_that_was_seen(
    row_s: float, growth: list[float]
) -> None:
    costs, cost = {1: row_s}, row_s
    for number, more in enumerate(growth, 2):
        cost *= 1 + more
        costs[number] = cost
    most = len(costs)
    knee = learned(costs).knee(most)
    best = max(n / c for n, c in costs.items())
    assert knee / costs[knee] >= 0.98 * best * (1 - 1e-6)
    assert all(n / costs[n] < 0.98 * best * (1 + 1e-6) for n in range(1, knee))
