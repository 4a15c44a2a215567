"""Algorithm 1 of Lobster, repaired: each of the five faults would fail one of these."""

import hypothesis.strategies as st
from hypothesis import given

from papers.simulators.rank_threads import in_proportion, rank_threads


def threads(costs: list[float], train: float, node: int, waiting: list[int]) -> list[int]:
    return rank_threads(waiting, lambda rank, number: costs[rank] / number - train, node, 0.1)


def test_threads_begin_in_proportion_to_what_waits() -> None:
    assert in_proportion([8, 16, 8], 8) == [2, 4, 2]
    assert in_proportion([1, 100, 0], 8) == [1, 7, 0]
    assert in_proportion([0, 0], 4) == [0, 0]


def test_a_straggler_gets_what_others_do_not_need() -> None:
    """Equal queues, and one of them costs three times as much: 4 threads for each at first."""
    assert threads([4.0, 4.0, 12.0], 2.0, 12, [8, 8, 8]) == [3, 3, 6]


def test_nobody_gets_more_than_others_can_give() -> None:
    assert sum(threads([9.0, 9.0, 90.0], 2.0, 12, [8, 8, 8])) <= 12


def test_without_stragglers_nothing_is_moved() -> None:
    assert threads([4.0, 4.0], 2.0, 4, [8, 8]) == [2, 2]
    assert threads([1.0, 4.0], 2.0, 4, [8, 8]) == [2, 2]


@given(
    costs=st.lists(st.floats(0.1, 50.0), min_size=1, max_size=6),
    train=st.floats(0.1, 10.0),
    more=st.integers(0, 30),
    data=st.data(),
)
def test_the_node_is_never_exceeded_and_whoever_has_work_has_a_thread(
    costs: list[float], train: float, more: int, data: st.DataObject
) -> None:
    waiting = [data.draw(st.integers(0, 40)) for _ in costs]
    node = len(costs) + more
    first, given = in_proportion(waiting, node), threads(costs, train, node, waiting)
    assert sum(given) <= node
    assert all(number >= 1 for number, rows in zip(given, waiting, strict=True) if rows)

    def worst(numbers: list[int]) -> float:
        each = zip(costs, numbers, waiting, strict=True)
        return max((cost / number - train for cost, number, rows in each if rows), default=0.0)

    assert worst(given) <= max(0.0, worst(first)) + 1e-9
