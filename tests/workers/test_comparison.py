"""What counts as the same row, and what cannot tell."""

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from joader.images import Steps
from joader.memory import Arena, pack
from joader.messages import Compare
from joader.recipe.parts import SharedPart
from joader.recipe.randomness import kept_random_numbers, key_of, start_random_numbers
from joader.workers.comparison import compared

KEY, POSITION = 77, 3


class Rows:
    """A dataset of one row."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make

    def __len__(self) -> int:
        return 1

    def __getitem__(self, row: int) -> Any:
        return self.make()


class Named:
    """An object without a layout, equal to others of its name, pickled each time otherwise."""

    def __init__(self, name: str) -> None:
        self.name, self.noise = name, random.SystemRandom().random()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Named) and other.name == self.name

    __hash__ = None  # type: ignore[assignment]


class Blind:
    """An object that no other is equal to, pickled each time otherwise."""

    def __init__(self) -> None:
        self.noise = "x" * random.SystemRandom().randrange(100) + str(
            random.SystemRandom().random()
        )


@pytest.fixture
def arena() -> Iterator[Arena]:
    made = Arena(1 << 16)
    with kept_random_numbers():
        yield made
    made.close()


def same(arena: Arena, theirs: Callable[[], Any], mine: Callable[[], Any], fresh: bool) -> bool:
    """Prepare a row as others do, then compare what is made of it here."""
    start_random_numbers(key_of(KEY, POSITION, 0))
    parcel = pack(theirs())
    parcel.write(arena.slot(0, parcel.layout.size_bytes))
    start_random_numbers(1)
    order = Compare(
        1,
        sample=5,
        recipe="rows",
        row=0,
        offset=0,
        layout=parcel.layout.to_bytes(),
        key=KEY,
        position=POSITION,
        fresh=fresh,
    )
    found = compared(order, SharedPart(Rows(mine), Steps(())), None, arena)
    assert (found.job, found.sample) == (1, 5)
    return found.same


def beside(value: Any, other: Any) -> Callable[[], Any]:
    return lambda: (np.full(40, value), other if not callable(other) else other())


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("other", [7, "text", {1, 2}, lambda: Named("a"), lambda: Named(None)])
def test_values_beside_an_object_are_compared(arena: Arena, other: Any, fresh: bool) -> None:
    assert same(arena, beside(0, other), beside(0, other), fresh)
    assert not same(arena, beside(0, other), beside(1, other), fresh)


@pytest.mark.parametrize("fresh", [False, True])
def test_objects_are_equal_if_they_say_so_and_else_different(arena: Arena, fresh: bool) -> None:
    sets = [lambda: {"a", "b"}, lambda: {"b", "a"}]
    assert same(arena, *sets, fresh)
    assert not same(arena, lambda: {"a"}, lambda: {"b"}, fresh)
    assert same(arena, lambda: Named("a"), lambda: Named("a"), fresh)
    assert not same(arena, lambda: Named("a"), lambda: Named("b"), fresh)
    assert not same(arena, Blind, Blind, fresh)
    assert not same(arena, lambda: [1, {2}], lambda: (1, {2}), fresh)


@pytest.mark.parametrize("fresh", [False, True])
def test_random_code_is_compared_with_the_random_numbers_of_the_sample(
    arena: Arena, fresh: bool
) -> None:
    def draws(plus: int) -> Any:
        return np.random.rand(5) + random.random() + plus  # noqa: NPY002 - as user code does

    assert same(arena, lambda: draws(0), lambda: draws(0), fresh)
    assert not same(arena, lambda: draws(0), lambda: draws(1), fresh)


def test_what_is_random_each_time_tells_nothing_but_all_else_does(arena: Arena) -> None:
    entropy = np.random.default_rng()

    def made(value: int) -> Any:
        return entropy.random(3), np.full(4, value)

    assert same(arena, lambda: made(0), lambda: made(0), fresh=True)
    assert not same(arena, lambda: made(0), lambda: made(1), fresh=True)
    # A job that says that it is deterministic is not.
    assert not same(arena, lambda: made(0), lambda: made(0), fresh=False)

    def cut() -> Any:
        return np.zeros(entropy.integers(1, 1 << 12))  # even its shape

    assert same(arena, cut, cut, fresh=True)


def test_a_dataset_that_fills_one_buffer_is_compared_as_it_was(arena: Arena) -> None:
    buffer, number = np.zeros(40), iter(range(1, 9))

    def next_one() -> Any:
        buffer[:] = next(number)
        return buffer

    # It gives another value each time, so nothing is known of it.
    assert same(arena, lambda: np.zeros(40), next_one, fresh=True)
    assert not same(arena, lambda: np.zeros(40), next_one, fresh=False)
