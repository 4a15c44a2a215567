"""Jobs that can share work: they join, leave, split and merge, and each reads all its rows once.

Who takes part when: each count exact, spread evenly, the last round included.
"""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from joader.sampling.bits import Bits
from joader.sampling.group import Group, connected, players_by_round
from joader.sampling.rows import OpenSet, RowSet


def rows(*numbers: int) -> OpenSet:
    return OpenSet(RowSet(np.array(numbers)))


def group(*sets: range, rule: str = "shared") -> Group:
    made = Group(rule)
    for one in sets:
        made.join(rows(*one))
    return made


@pytest.mark.parametrize("rule", ["shared", "paper", "common"])
def test_each_job_reads_all_its_rows_once(rule: str) -> None:
    sets = [range(12), range(6, 18), range(3, 9)]
    made, bits = group(*sets, rule=rule), Bits("group", 1)
    got: list[list[int]] = [[] for _ in sets]
    for _ in range(6):
        counts = [(number, min(2, left)) for number, left in enumerate(made.left) if left]
        for number, drawn in made.draw(counts, 2, bits).items():
            got[number] += drawn.tolist()
    assert [sorted(one) for one in got] == [list(one) for one in sets]
    assert all(len(set(one)) == len(one) for one in got)


def test_jobs_with_equal_rows_and_counts_read_the_same_and_get_arrays_of_their_own() -> None:
    made = group(range(10), range(10))
    drawn = made.draw([(0, 4), (1, 4)], 4, Bits("group", 1))
    assert drawn[0].tolist() == drawn[1].tolist()
    assert drawn[0] is not drawn[1]
    assert made.left == [6, 6]


def test_the_number_of_a_job_that_left_is_given_to_the_next() -> None:
    made = group(range(4), range(4), range(4))
    made.leave(1)
    assert made.left == [4, 0, 4]
    assert made.join(rows(7, 8)) == 1
    made.leave(2)
    made.leave(1)
    assert made.left == [4]


def test_a_group_that_is_absorbed_keeps_its_rows_under_new_numbers() -> None:
    made, other = group(range(4)), group(range(10, 16), range(12, 20))
    numbers = made.absorb(other)
    assert numbers == {0: 1, 1: 2}
    assert made.left == [4, 6, 8]
    drawn = made.draw([(2, 8)], 8, Bits("group", 1))[2]
    assert sorted(drawn.tolist()) == list(range(12, 20))


def test_a_split_moves_those_with_the_most_left_and_both_halves_read_on() -> None:
    made = group(range(10), range(4), range(8))
    other = made.split()
    assert made.members == [False, True]
    assert (made.left, other.left) == ([0, 4], [10, 0, 8])
    drawn = other.draw([(0, 10)], 10, Bits("group", 1))[0]
    assert sorted(drawn.tolist()) == list(range(10))
    assert sum(len(cell) for cell in made.cells) == 4


def test_jobs_without_common_rows_play_apart() -> None:
    made = group(range(5), range(4, 9), range(20, 25))
    assert connected(made.cells, 0b111) == [0b011, 0b100]
    assert connected(made.cells, 0b101) == [0b001, 0b100]


@given(st.lists(st.integers(0, 50), min_size=1, max_size=6), st.integers(0, 30))
@settings(derandomize=True, deadline=None)
def test_after_every_round_each_has_taken_its_part_rounded_down(
    counts: list[int], more: int
) -> None:
    rounds = max(counts) + more
    masks = players_by_round([(1 << n, count) for n, count in enumerate(counts)], rounds)
    assert len(masks) == rounds
    for number, count in enumerate(counts):
        taken = 0
        for done, mask in enumerate(masks, start=1):
            taken += mask >> number & 1
            assert taken == done * count // rounds
        assert taken == count
