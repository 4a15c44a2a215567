"""What a node has alone when it leaves, and how much of that another may take."""

import numpy as np

from joader.messages import Join, LastCopies, Moved
from tests.engine.world import World

ROWS = 40
SLOT = 128


def world(slots: int) -> World:
    return World(slots * SLOT, lambda row: 100)


def read(on: World, job: int, recipe: str, *, until: int = 0, **more: object) -> None:
    """Let a job read its pass, but for so many positions."""
    on.join(Join(job, recipe, np.arange(ROWS), ROWS, 4, order="given", **more))  # type: ignore[arg-type]
    on.begin(job)
    while len(on.left[job]) > until:
        on.want(job, 4)
        on.settle()


def test_what_another_node_keeps_is_not_a_last_copy() -> None:
    on = world(100)
    read(on, 1, "photos")
    heirs = on.engine.inheritance
    assert heirs.last_copies("photos").tolist() == list(range(ROWS))
    table = on.engine._cache.table
    table.copied.cells[table.first[3]] = 1
    assert 3 not in heirs.last_copies("photos")
    on.engine.handle(LastCopies())  # that node has gone
    assert 3 in heirs.last_copies("photos")


def test_rows_of_other_recipes_and_random_ones_are_not_handed_over() -> None:
    on = world(200)
    read(on, 1, "photos")
    read(on, 2, "sounds")
    read(on, 3, "random", fresh=True)
    heirs = on.engine.inheritance
    assert heirs.last_copies("sounds").tolist() == list(range(ROWS))
    assert heirs.last_copies("random").size == 0
    assert heirs.last_copies("nothing").size == 0


def test_what_is_here_is_not_taken_again_and_what_is_needed_comes_first() -> None:
    on = world(100)
    read(on, 1, "photos", until=16)
    heirs = on.engine.inheritance
    here = set(heirs.last_copies("photos").tolist())
    assert 24 <= len(here) < ROWS
    offered = np.arange(ROWS, dtype=np.int64)
    assert set(heirs.absent("photos", offered).tolist()) == set(range(ROWS)) - here
    # Nobody reads these rows, so they go last.
    on.join(Join(2, "sounds", np.arange(20, ROWS), ROWS, 4, order="given"))
    on.begin(2)
    absent = heirs.absent("sounds", offered).tolist()
    needed = [row for row in absent if row >= 20]  # but for those that are on their way
    assert needed
    assert absent == [*needed, *range(20)]


def test_there_is_room_for_what_is_free_and_for_copies_but_not_for_what_was_read() -> None:
    on = world(60)
    read(on, 1, "photos")
    heirs = on.engine.inheritance
    assert heirs.room("photos") == 20
    table = on.engine._cache.table
    for row in range(5):
        table.copied.cells[table.first[row]] = 1
    assert heirs.room("photos") == 25
    on.leave(1)  # nobody reads it any more, so it may all go
    assert heirs.room("photos") == 60
    assert heirs.room("nothing") == 0


def test_what_has_moved_to_another_node_is_a_copy() -> None:
    on = world(100)
    read(on, 1, "photos")
    heirs = on.engine.inheritance
    table = on.engine._cache.table
    on.engine.handle(Moved((table.first[3], table.first[5])))
    assert set(range(ROWS)) - set(heirs.last_copies("photos").tolist()) == {3, 5}


def test_who_asks_what_is_ready_is_not_told_what_is_on_its_way() -> None:
    on = world(100)
    read(on, 1, "photos", until=16)
    heirs = on.engine.inheritance
    here = heirs.last_copies("photos")
    rows = np.arange(ROWS, dtype=np.int64)
    assert np.flatnonzero(heirs.ready("photos", rows)).tolist() == here.tolist()
    assert len(here) < ROWS
    assert not heirs.ready("nothing", rows).any()
