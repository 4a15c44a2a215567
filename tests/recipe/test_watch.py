"""Which datasets had better be read by the job itself."""

import os
import random
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from joader.recipe.watch import (
    AT_HAND_S,
    FIRST,
    HELD_UP,
    MANY,
    ROWS,
    SLOW_S,
    AtHand,
    Found,
    KeepsState,
    Pace,
    Signs,
    Watch,
)


def test_the_first_row_tells_whether_a_dataset_keeps_state() -> None:
    dataset = SimpleNamespace(count=0, table=[1])
    watch = Watch(dataset, Signs(state=True))
    dataset.count += 1
    with pytest.raises(KeepsState, match="'count'"):
        watch.saw(0.001, drew=False)
    dataset.count += 1
    assert Watch(dataset, Signs(state=True)).saw(0.0, drew=False)


def test_what_is_filled_at_its_first_use_is_not_state() -> None:
    dataset = SimpleNamespace(file=None)
    watch = Watch(dataset, Signs(state=True))
    dataset.file = 7
    assert watch.saw(0.001, drew=False)


def test_rows_that_take_no_time_are_at_hand_though_one_took_longer() -> None:
    watch = Watch(object(), Signs(pace=ROWS))
    for number in range(ROWS - 1):
        assert not watch.saw(AT_HAND_S / 2 if number else 1.0, drew=False)
    with pytest.raises(AtHand, match="µs"):
        watch.saw(AT_HAND_S / 2, drew=False)


def test_rows_of_which_two_took_longer_are_not_at_hand() -> None:
    watch = Watch(object(), Signs(pace=ROWS))
    for number in range(FIRST):
        seen = watch.saw(0.001 if number % ROWS in (2, 5) else AT_HAND_S / 2, drew=False)
    assert seen


def test_rows_are_at_hand_once_the_first_ones_have_filled_the_caches() -> None:
    watch = Watch(object(), Signs(pace=ROWS))
    for number in range(2 * ROWS):
        assert not watch.saw(AT_HAND_S / 2 if number >= ROWS + 2 else 0.001, drew=False)
    with pytest.raises(AtHand):
        watch.saw(AT_HAND_S / 2, drew=False)


def test_rows_that_take_longer_are_not_watched_for_long() -> None:
    watch = Watch(object(), Signs(pace=ROWS))
    seen = [watch.saw(AT_HAND_S * 2, drew=False) for _ in range(FIRST)]
    assert seen == [False] * (FIRST - 1) + [True]


def test_state_is_no_sign_where_it_is_not_looked_for() -> None:
    dataset = SimpleNamespace(count=0)
    watch = Watch(dataset, Signs(pace=ROWS))
    dataset.count += 1
    assert not watch.saw(1.0, drew=False)


def drawn_by_torch() -> Any:
    return pytest.importorskip("torch").rand(1)


@pytest.mark.parametrize("draw", [random.random, np.random.rand, drawn_by_torch])
def test_rows_with_random_numbers_are_not_at_hand(draw: Callable[[], Any]) -> None:
    watch = Watch(object(), Signs(pace=ROWS))
    assert watch.watch(lambda: 5) == (5, False)
    assert watch.watch(draw)[1]


@pytest.mark.parametrize("rows", [ROWS, 2])
def test_other_processes_hear_that_rows_are_at_hand(rows: int) -> None:
    found = Found()
    watch = Watch(object(), Signs(pace=rows, found=found))
    for _ in range(rows - 1):
        assert not watch.saw(AT_HAND_S / 2, drew=False)
    assert not found.at_hand
    child = os.fork()
    if not child:
        try:
            watch.saw(AT_HAND_S / 2, drew=False)
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert found.at_hand


def test_of_a_small_dataset_only_the_next_loader_hears() -> None:
    found = Found()
    watch = Watch(object(), Signs(pace=2, found=found))
    assert [watch.saw(AT_HAND_S / 2, drew=False) for _ in range(2)] == [False, False]
    assert found.at_hand


def test_the_first_rows_tell_whether_what_was_known_holds() -> None:
    pace = Pace()
    assert not pace.is_slow([SLOW_S * 2] * (ROWS - 1))
    assert pace.is_slow([SLOW_S * 2])
    assert not Pace().is_slow([1.0] * (ROWS // 2) + [SLOW_S / 2] * ROWS)


def test_rows_that_take_long_are_noticed_however_many_were_quick() -> None:
    pace = Pace()
    for _ in range(100):
        assert not pace.is_slow([SLOW_S / 2] * MANY)
    assert pace.is_slow([SLOW_S * 2] * MANY)


def test_few_rows_that_a_busy_machine_held_up_are_not_slow() -> None:
    assert not Pace().is_slow([SLOW_S / 2] * (MANY - HELD_UP) + [1.0] * HELD_UP)
