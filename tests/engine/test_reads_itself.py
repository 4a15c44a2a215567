"""Jobs that read by themselves what is not here: nothing is prepared for them, nothing is owed."""

import numpy as np
import pytest

from joader.engine import Engine
from joader.messages import Begin, Deliver, Join, Prepare, Want
from tests.engine.world import World

SIZE = 100


def world(slots: int = 400) -> World:
    return World(slots * 128, lambda row: SIZE)


def join(job: int, rows: int = 40, batch: int = 4, **more: object) -> Join:
    more.setdefault("recipe", "photos")
    more.setdefault("row_limit", rows)
    return Join(job=job, rows=np.arange(rows), batch_size=batch, **more)  # type: ignore[arg-type]


def run(on: World, *jobs: int) -> None:
    """Let jobs read to the end of their pass."""
    while todo := [job for job in jobs if on.left[job]]:
        for job in todo:
            on.want(job, on.jobs[job].batch_size)
        on.settle()


def test_alone_it_reads_all_of_its_pass_by_itself_and_each_position_once() -> None:
    on = world()
    on.join(join(1, reads_itself=True))
    on.begin(1)
    run(on, 1)
    assert sorted(on.got[1]) == sorted(on.absent[1]) == list(range(40))
    assert on.prepared == 0
    assert on.engine._cache.used_bytes == 0
    stats = on.engine.statistics().jobs[1]
    assert stats.delivered == stats.prepared == 40


@pytest.mark.parametrize("order", ["seeded", "given"])
def test_its_order_is_what_it_would_be_with_workers(order: str) -> None:
    got = []
    for itself in (True, False):
        on = world()  # checks the order of each delivery, too
        on.join(join(1, order=order, seed=3, reads_itself=itself))
        on.begin(1)
        run(on, 1)
        got.append(on.got[1])
    assert got[0] == got[1]


def test_it_takes_what_another_had_prepared_and_says_which_places_it_has_to_read() -> None:
    on = world()
    on.join(join(1, rows=20, row_limit=40))
    on.begin(1)
    run(on, 1)
    on.join(join(2, order="given", batch=40, reads_itself=True))
    on.begin(2)
    on.want(2, 40)
    assert on.absent[2] == list(range(20, 40))
    stats = on.engine.statistics().jobs[2]
    assert (stats.delivered, stats.prepared, stats.shared) == (40, 20, 20)
    assert on.prepared == 20


def test_what_is_in_preparation_for_another_is_not_waited_for() -> None:
    on = world()
    on.join(join(1))
    on.begin(1)
    on.want(1, 4)
    assert on.to_do
    on.join(join(2, reads_itself=True))
    on.begin(2)
    on.want(2, 4)
    assert len(on.got[2]) == 4
    assert len(on.absent[2]) == 4


def test_what_it_holds_is_not_taken_from_it_before_it_gives_it_back() -> None:
    on = world(slots=12)
    on.join(join(1, rows=8, row_limit=40, order="given"))
    on.begin(1)
    run(on, 1)
    on.join(join(2, rows=8, row_limit=40, order="given", reads_itself=True))
    on.begin(2)
    on.want(2, 4)
    assert on.absent[2] == []
    on.join(join(3, recipe="sounds", batch=2))
    on.begin(3)
    while on.left[3]:  # `World` sees that no slot in use is given to another
        on.want(3, 2)
        on.work()
        on.release(3)
    assert len(on.held[2]) == 1


def test_it_is_never_refused_for_want_of_memory_nor_keeps_another_out() -> None:
    on = world(slots=20)
    on.join(join(1, batch=8))
    on.begin(1)
    on.want(1, 8)
    on.settle()
    on.join(join(2, batch=40, reads_itself=True))
    on.begin(2)
    run(on, 1, 2)
    on.leave(1)
    on.join(join(3, batch=8))
    on.begin(3)
    run(on, 3)
    assert on.refused == {}


def test_it_reads_on_in_a_budget_in_which_nothing_has_room() -> None:
    engine = Engine(64, seed=1)
    engine.handle(join(1, reads_itself=True), Begin(1))
    for _ in range(10):
        (said,) = engine.handle(Want(1, 4))
        assert isinstance(said, Deliver)
        assert said.absent.tolist() == [0, 1, 2, 3]


def test_a_fresh_sample_of_another_is_taken_once_and_then_the_row_is_read_anew() -> None:
    on = world()
    on.join(join(1, fresh=True))
    on.begin(1)
    run(on, 1)
    on.join(join(2, fresh=True, reads_itself=True))
    for epoch, expected in ((0, 0), (1, 40), (2, 80)):
        on.begin(2, epoch)
        run(on, 2)
        assert len(on.absent[2]) == expected
    assert on.prepared == 40


def test_a_seeded_job_with_random_code_takes_nothing_of_others() -> None:
    on = world()
    on.join(join(1, fresh=True))
    on.begin(1)
    run(on, 1)
    on.join(join(2, fresh=True, order="seeded", seed=1, reads_itself=True))
    on.begin(2)
    run(on, 2)
    assert len(on.absent[2]) == 40


def test_its_own_part_is_its_own_business_so_it_gets_the_shared_sample() -> None:
    on = world()
    on.join(join(1))
    on.begin(1)
    run(on, 1)
    on.join(join(2, own=True, reads_itself=True))
    on.begin(2)
    run(on, 2)  # `World` sees that it is the shared one
    assert on.absent[2] == []


def test_rows_it_was_told_come_in_that_order_as_often_as_it_says() -> None:
    engine = Engine(100 * 128, seed=1)
    engine.handle(join(1, order="told", reads_itself=True), Begin(1))
    (said,) = engine.handle(Want(1, 3, 0.0, np.array([7, 7, 2])))
    assert isinstance(said, Deliver)
    assert said.positions.tolist() == [0, 1, 2]  # in the order it was told
    assert said.absent.tolist() == [0, 1, 2]


def test_others_draw_with_it_so_that_they_share_what_they_prepare() -> None:
    on = world(slots=60)
    for job, itself in ((1, False), (2, True)):
        on.join(join(job, rows=200, reads_itself=itself))
        on.begin(job)
    while on.left[1]:
        on.want(1, 4)
        on.settle()
        if on.left[2]:
            on.want(2, 4)
        on.settle()
    assert len(on.absent[2]) < 100


def test_nothing_is_prepared_for_it_when_the_one_it_was_prepared_for_leaves() -> None:
    on = world()
    on.join(join(1))
    on.begin(1)
    on.want(1, 4)
    on.join(join(2, reads_itself=True))
    on.begin(2)
    on.leave(1)
    first = list(on.to_do)
    on.lose(first)
    assert on.to_do == {}
    assert not [i for _, said in on.log[-1:] for i in said if isinstance(i, Prepare)]
    run(on, 2)
