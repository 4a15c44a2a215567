"""Rows in a random order of their own: each once, and none that was read meanwhile."""

import hypothesis.strategies as st
import numpy as np
from hypothesis import given

from joader.sampling.blind import FREE, OWN, READ, Blind


def test_without_marks_the_order_is_cut() -> None:
    blind = Blind(np.array([4, 0, 3, 1], np.uint32))
    assert blind.take(3, None).tolist() == [4, 0, 3]
    assert blind.left == 1
    assert blind.take(1, None).tolist() == [1]
    assert blind.left == 0


@given(seed=st.integers(0, 10**6), count=st.integers(1, 30))
def test_rows_that_were_read_otherwise_are_passed_over(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    order = rng.permutation(count).astype(np.uint32)
    marks = np.full(count, FREE)
    blind, found = Blind(order), list[int]()
    while (left := np.flatnonzero(marks == FREE)).size:
        others = rng.choice(left, rng.integers(0, min(3, left.size + 1)), replace=False)
        marks[others] = rng.choice([READ, OWN])
        there = [row for row in order.tolist() if marks[row] == FREE]
        want = int(rng.integers(0, len(there) + 1))
        rows = blind.take(want, marks)
        assert rows.tolist() == there[:want]
        marks[rows] = READ
        found += rows.tolist()
    assert len(found) == len(set(found))
