"""Which datasets had better be read by the job itself."""

from types import SimpleNamespace

import pytest

from joader.recipe.watch import AT_HAND_S, ROWS, AtHand, KeepsState, Signs, Watch


def test_the_first_row_tells_whether_a_dataset_keeps_state() -> None:
    dataset = SimpleNamespace(count=0, table=[1])
    watch = Watch(dataset, Signs(state=True))
    dataset.count += 1
    with pytest.raises(KeepsState, match="'count'"):
        watch.saw(0.001)
    dataset.count += 1
    assert Watch(dataset, Signs(state=True)).saw(0.0)


def test_what_is_filled_at_its_first_use_is_not_state() -> None:
    dataset = SimpleNamespace(file=None)
    watch = Watch(dataset, Signs(state=True))
    dataset.file = 7
    assert watch.saw(0.001)


def test_rows_that_take_no_time_are_at_hand_though_some_took_longer() -> None:
    watch = Watch(object(), Signs(pace=True))
    for number in range(ROWS - 1):
        assert not watch.saw(1.0 if number % 3 == 0 else AT_HAND_S / 2)
    with pytest.raises(AtHand, match="µs"):
        watch.saw(AT_HAND_S / 2)


def test_rows_that_take_longer_are_not_watched_for_long() -> None:
    watch = Watch(object(), Signs(pace=True))
    assert [watch.saw(AT_HAND_S * 2) for _ in range(ROWS)] == [False] * (ROWS - 1) + [True]


def test_state_is_no_sign_where_it_is_not_looked_for() -> None:
    dataset = SimpleNamespace(count=0)
    watch = Watch(dataset, Signs(pace=True))
    dataset.count += 1
    assert not watch.saw(1.0)
