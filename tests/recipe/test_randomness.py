"""The user's random numbers: a function of pass and position, and of nothing else."""

import random
from contextlib import suppress

import numpy as np
import pytest

from joader.recipe.randomness import kept_random_numbers, key_of, start_random_numbers


def drawn() -> tuple[float, float]:
    return random.random(), float(np.random.rand())  # noqa: NPY002 - as users do


def test_every_position_has_a_key_of_its_own_each_time_it_comes() -> None:
    keys = {key_of(*name) for name in np.ndindex(4, 5, 6)}
    assert len(keys) == 4 * 5 * 6
    assert all(0 <= key < 2**63 for key in keys)
    assert key_of(2**64 - 1, 3, 1) == key_of(2**64 - 1, 3, 1)


def test_equal_keys_give_equal_numbers_whatever_was_drawn_before() -> None:
    with kept_random_numbers():
        start_random_numbers(2**63 - 1)
        first = drawn()
        drawn()
        start_random_numbers(2**63 - 1)
        assert drawn() == first
        start_random_numbers(2**63 - 2)
        assert drawn() != first


def test_torch_is_seeded_too_if_it_is_loaded() -> None:
    torch = pytest.importorskip("torch")
    with kept_random_numbers():
        start_random_numbers(5)
        first = torch.rand(3).tolist()
        start_random_numbers(5)
        assert torch.rand(3).tolist() == first


def test_a_block_leaves_the_generators_as_they_were_even_if_it_fails() -> None:
    start = random.getstate()
    with suppress(ZeroDivisionError), kept_random_numbers():
        start_random_numbers(5)
        random.random() // 0
    assert random.getstate() == start
    with kept_random_numbers():
        first = drawn()
    assert drawn() == first
