"""What a model is worth."""

import pytest

from joader.errors import BadArgument
from papers.models.accuracy import accuracy, one_kind_out, parts


def test_r_squared_is_one_for_the_truth_and_zero_for_the_mean() -> None:
    seen = [1.0, 2.0, 6.0]
    assert accuracy(seen, seen).r_squared == 1.0
    assert accuracy([3.0] * 3, seen).r_squared == 0.0
    assert accuracy([1.1, 2.2, 5.4], seen).median_error == pytest.approx(0.1)
    with pytest.raises(BadArgument):
        accuracy([], [])


def test_runs_are_either_learned_from_or_held_out() -> None:
    learned, held = parts(10, seed=3)
    assert sorted(learned + held) == list(range(10))
    assert len(learned) == 6
    found = list(one_kind_out(["a1", "b1", "a2"], lambda run: run[0]))
    assert found == [("a", [1], [0, 2]), ("b", [0, 2], [1])]
