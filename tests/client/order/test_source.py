"""What a pass reads next, and what it has yielded."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from joader.client.order.progress import DrawnBy, Progress
from joader.client.order.sampler_order import ToldOrder
from joader.client.order.source import Drawn, Told, key_from, random_key
from joader.messages import Announce, Deliver


def batch(*positions: int) -> Deliver:
    rows = np.array(positions, np.int64)
    return Deliver(1, rows, rows, rows)


def asked(source: Any) -> list[int]:
    counts = []
    while (want := source.ask()) is not None:
        counts.append(want.count)
    return counts


@pytest.mark.parametrize(
    ("drop_last", "world_size", "counts"),
    [(False, 1, [4, 4, 2]), (True, 1, [4, 4]), (False, 2, [4, 1]), (True, 2, [4])],
)
def test_a_pass_is_asked_for_in_batches(drop_last: bool, world_size: int, counts: Any) -> None:
    assert asked(Drawn(Progress(10, 0), 4, drop_last, world_size)) == counts


def test_what_was_asked_for_and_not_yielded_is_asked_for_again() -> None:
    source = Drawn(Progress(10, 3, key=77), 4, drop_last=False)
    assert asked(source) == [4, 4, 2]
    source.note(batch(9, 0, 5, 2))
    begin = source.begin(number=6)
    assert (begin.epoch, begin.key, begin.number) == (3, 77, 6)
    assert begin.done.tolist() == [0, 2, 5, 9]
    assert asked(source) == [4, 2]
    source.note(batch(1, 3, 4, 6))
    assert not source.complete
    source.note(batch(7, 8))
    assert source.complete


def test_a_pass_says_in_which_life_it_drew_for_another_and_not_for_itself() -> None:
    me, you, later = DrawnBy(7, "me"), DrawnBy(7, "you"), DrawnBy(8, "me")
    source = Drawn(Progress(10, 0, drawn_by=you), 4, drop_last=False)
    assert source.begin(1, me).life == 7  # another process has saved this state
    assert source.begin(2, me).life == 7  # nothing came yet
    source.note(batch(9, 0, 5, 2))
    assert source.drawn_by == me
    assert source.begin(3, me).life == 0
    assert source.begin(4, later).life == 7  # the daemon was started again, and has forgotten
    assert source.begin(5).life == 7  # no daemon: what is yielded now nobody draws
    source.note(batch(1, 3, 4, 6))
    assert source.drawn_by == me


def test_a_rank_notes_whole_steps_and_reads_its_part_of_each() -> None:
    source = Drawn(Progress(8, 0), 2, drop_last=False, world_size=2, rank=1, new_key=5)
    step = np.array([7, 1, 4, 2])
    know = source.learn(Announce(1, ((step, 0, 0),), key=99, number=3))
    assert (know.count, know.number) == (1, 3)
    assert source.positions(batch(0, 1)).tolist() == [4, 2]
    source.note(batch(0, 1))
    assert source.progress.positions().tolist() == [1, 2, 4, 7]
    assert source.progress.key == 99
    assert source.begin(0).taken == 1


def test_ranks_keep_who_has_drawn_a_step_when_they_tell_the_next_daemon() -> None:
    step, first, later = np.array([7, 1, 4, 2]), DrawnBy(7, "job"), DrawnBy(8, "job")
    ranks = [
        Drawn(Progress(8, 0), 2, drop_last=False, world_size=2, rank=rank, new_key=5)
        for rank in range(2)
    ]
    ranks[0].begin(1, first)
    ranks[0].learn(Announce(1, ((step, 0, 0),), key=99))
    plan = ranks[0].begin(2, later).plan
    assert [life for *_, life in plan] == [7]
    ranks[1].begin(1, later)
    ranks[1].learn(Announce(1, plan, key=99))  # it had not heard of the step before
    for rank in ranks:
        rank.note(batch(0, 1))
        assert rank.drawn_by == first


class Failing:
    """A sampler that gives a few positions and then raises."""

    def __iter__(self) -> Iterator[int]:
        yield from [3, 1, 3]
        raise KeyError("the sampler's own")


def told(sampler: Any, batch_size: int = 2) -> Told:
    order = ToldOrder(sampler, None, batch_size, False, None, length=5)
    return Told(order, Progress(5, 0, key=8))


def test_what_a_sampler_says_is_told_with_how_often_it_came_before() -> None:
    source = told([3, 1, 3])
    first, second = source.ask(), source.ask()
    assert first is not None
    assert second is not None
    assert source.ask() is None
    assert (first.positions.tolist(), first.times) == ([3, 1], None)  # type: ignore[union-attr]
    assert second.times is not None
    assert second.times.tolist() == [1]
    assert source.randomness(batch(0)) == (8, [0, 0])
    source.note(batch(0, 1))
    assert source.positions(batch(2)).tolist() == [3]
    source.note(batch(2))
    assert source.complete


def test_an_error_of_the_sampler_is_raised_after_all_that_came_before_it() -> None:
    source = told(Failing(), batch_size=3)
    assert asked(source) == [3]
    source.raise_error()
    source.note(batch(0, 1, 2))
    with pytest.raises(KeyError, match="the sampler's own"):
        source.raise_error()
    source.raise_error()  # once


def test_keys_are_made_of_all_their_parts() -> None:
    assert key_from(1, 2) == key_from(1, 2) != key_from(12)
    assert 0 <= key_from(2**64) < 2**63
    assert random_key() != random_key()
