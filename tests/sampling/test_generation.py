"""Generations are the same everywhere, uniform, and keep their order when rows are inserted."""

from itertools import permutations
from math import sqrt

import numpy as np

from joader.sampling.generation import Generation, shuffled

LIMIT = 5.0


def some(rows: range) -> np.ndarray:
    return np.array(rows, np.uint32)


def test_orders_are_those_of_all_other_machines() -> None:
    key = (3, 1, 4, 1)
    assert shuffled(key, some(range(1000)), 1000)[:6].tolist() == [110, 263, 65, 635, 796, 395]
    some_rows = shuffled(key, some(range(0, 1000, 7)), 1000)
    assert some_rows[:6].tolist() == [336, 189, 679, 252, 539, 595]


def test_every_part_of_the_key_gives_another_order() -> None:
    keys = [(1, 1, 1, 1), (2, 1, 1, 1), (1, 2, 1, 1), (1, 1, 2, 1), (1, 1, 1, 2)]
    assert len({tuple(shuffled(key, some(range(20)), 20)) for key in keys}) == len(keys)


def test_all_orders_are_equally_likely() -> None:
    runs = 6_000
    seen = dict.fromkeys(permutations(range(4)), 0)
    for number in range(runs):
        seen[tuple(shuffled((0, 0, 0, number), some(range(4)), 4).tolist())] += 1
    expected = runs / 24
    statistic = sum((count - expected) ** 2 / expected for count in seen.values())
    assert (statistic - 23) / sqrt(46) < LIMIT


def test_rows_that_are_absent_leave_the_order_of_the_others() -> None:
    everything = shuffled((1, 0, 0, 0), some(range(100)), 100)
    odd = shuffled((1, 0, 0, 0), some(range(1, 100, 2)), 100)
    assert everything[everything % 2 == 1].tolist() == odd.tolist()


def test_inserted_rows_move_places_and_the_clock_in_proportion() -> None:
    generation = Generation((1, 0, 0, 0), some(range(50)), 50, reach=5)
    generation.head = 20
    before = generation.order.copy()
    moved = generation.grow(some(range(100)), 100)
    assert generation.head == 40
    assert generation.order[moved[:-1]].tolist() == before.tolist()
    assert moved[-1] == generation.size == 100
    assert generation.places()[generation.order].tolist() == list(range(100))


def test_places_of_absent_numbers_are_the_end() -> None:
    generation = Generation((1, 0, 0, 0), some(range(0, 10, 2)), 10, reach=5)
    assert generation.places()[1::2].tolist() == [5] * 5


def test_a_pass_may_begin_a_little_behind_the_clock_and_a_new_generation_a_little_early() -> None:
    generation = Generation((1, 0, 0, 0), some(range(800)), 800, reach=80)
    assert generation.back == 10
    generation.stride = 30
    assert generation.back == 30
    generation.stride = 700
    assert generation.back == 50
    generation.head = 749
    assert not generation.over
    generation.head = 750
    assert generation.over
