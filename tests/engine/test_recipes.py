"""Recipes that stay open after their last job: what was prepared serves the next."""

import numpy as np
import pytest

from joader.engine.recipes import MOST_KEPT, Recipes
from joader.errors import BadArgument
from joader.messages import Forget, Hear, Join, Late, Leave
from tests.engine.world import World

ROWS = 40


def world(slots: int = 400) -> World:
    return World(slots * 128, lambda row: 100)


def read(on: World, job: int, recipe: str = "photos", **more: object) -> None:
    """Let a job join, and read a pass."""
    more.setdefault("row_limit", ROWS)
    on.join(Join(job, recipe, np.arange(ROWS), batch_size=4, **more))  # type: ignore[arg-type]
    on.begin(job)
    while job in on.jobs and on.left[job]:
        on.want(job, 4)
        on.settle()


def test_a_second_job_finds_what_the_first_left() -> None:
    on = world()
    read(on, 1)
    on.leave(1)
    assert on.engine.has_recipe("photos")
    read(on, 2)
    assert on.prepared == ROWS
    assert on.engine.statistics().jobs[2].hits == ROWS


def test_a_job_that_reads_by_itself_finds_it_too() -> None:
    on = world()
    read(on, 1)
    on.leave(1)
    read(on, 2, reads_itself=True)
    assert on.absent[2] == []


def test_nothing_is_left_of_random_code() -> None:
    on = world()
    read(on, 1, fresh=True)
    read(on, 2, fresh=True)
    on.leave(2)
    assert on.engine._cache.used_bytes > 0
    on.leave(1)
    assert on.engine._cache.used_bytes == 0
    assert not on.engine.has_recipe("photos")


@pytest.mark.parametrize("passes", [1, 3])
def test_a_job_with_random_code_takes_what_is_kept_once_and_leaves_it(passes: int) -> None:
    on = world()
    read(on, 1)
    on.leave(1)
    read(on, 2, fresh=True)
    for epoch in range(1, passes):
        on.begin(2, epoch)
        while on.left[2]:
            on.want(2, 4)
            on.settle()
    assert on.prepared == passes * ROWS  # the first pass takes what is here
    on.leave(2)
    assert len(on.slots) == ROWS  # and not what was prepared for it
    read(on, 3)
    assert on.prepared == passes * ROWS


def test_nobody_takes_what_is_kept_twice_though_nobody_reads_it_meanwhile() -> None:
    on = world()
    read(on, 1)
    on.leave(1)
    for job, whom, expected in ((2, "a", 1), (3, "b", 1), (4, "a", 2)):
        read(on, job, fresh=True, reads_for=whom)
        on.leave(job)
        assert on.prepared == expected * ROWS
        assert len(on.slots) == ROWS


def test_what_a_deterministic_job_takes_of_one_with_random_code_is_kept() -> None:
    on = world()
    read(on, 1, fresh=True)
    on.join(Join(2, "photos", np.arange(20), ROWS, batch_size=4))
    on.begin(2)
    while on.left[2]:
        on.want(2, 4)
        on.settle()
    on.leave(2)
    on.leave(1)
    assert on.prepared == ROWS
    assert len(on.slots) == 20
    read(on, 3)
    assert on.prepared == ROWS + 20


def test_what_is_kept_gives_way_to_what_a_job_with_random_code_needs() -> None:
    """Without room for two samples of each row, the second takes the place of the first."""
    on = world(slots=ROWS + 8)
    read(on, 1)
    on.leave(1)
    read(on, 2, fresh=True)
    for epoch in range(1, 4):
        on.begin(2, epoch)
        while on.left[2]:
            on.want(2, 4)
            on.settle()
    assert on.prepared == 4 * ROWS
    assert on.refused == {}


def test_a_worker_that_is_late_makes_nothing_that_outlives_random_code() -> None:
    on = world()
    on.join(Join(1, "photos", np.arange(ROWS), ROWS, 4, fresh=True))
    on.begin(1)
    on.want(1, 4)
    on.tell(Late(tuple(on.to_do)))
    on.settle()
    on.leave(1)
    on.settle()
    assert not on.slots
    assert not on.engine.has_recipe("photos")


def test_a_recipe_of_which_nothing_is_here_is_closed_with_its_last_job() -> None:
    on = world()
    on.join(Join(1, "photos", np.arange(ROWS), ROWS, 4))
    on.leave(1)
    assert not on.engine.has_recipe("photos")


def test_what_is_left_is_given_up_before_anything_that_is_needed() -> None:
    on = world(slots=70)
    read(on, 1)
    on.leave(1)
    left = set(on.slots)
    for job in (2, 3):
        on.join(Join(job, "sounds", np.arange(ROWS), ROWS, 4, order="given"))
        on.begin(job)
    while on.left[2]:  # the other needs all of it later
        on.want(2, 4)
        on.settle()
    forgotten = {s for _, said in on.log for i in said if isinstance(i, Forget) for s in i.samples}
    assert forgotten
    assert forgotten <= left
    while on.left[3]:
        on.want(3, 4)
        on.settle()
    assert on.prepared == 2 * ROWS


def test_what_is_left_keeps_nobody_out() -> None:
    on = world(slots=48)
    read(on, 1)
    on.leave(1)
    on.join(Join(2, "sounds", np.arange(ROWS), ROWS, 24))  # its share is all there is
    on.begin(2)
    while on.left[2]:
        on.want(2, 24)
        on.settle()
    assert on.refused == {}


def test_of_recipes_without_jobs_the_latest_stay() -> None:
    on = world(slots=ROWS * (MOST_KEPT + 4))
    for number in range(MOST_KEPT + 3):
        read(on, number, f"recipe {number}")
        on.leave(number)
    here = [n for n in range(MOST_KEPT + 3) if on.engine.has_recipe(f"recipe {n}")]
    assert len(here) == MOST_KEPT
    assert here == list(range(3, MOST_KEPT + 3))
    assert len(on.slots) == ROWS * MOST_KEPT


def test_a_recipe_that_was_read_again_is_among_the_latest() -> None:
    on = world(slots=ROWS * (MOST_KEPT + 4))
    for number in range(MOST_KEPT):
        read(on, number, f"recipe {number}")
        on.leave(number)
    read(on, 100, "recipe 0")
    on.leave(100)
    read(on, 101, "another")
    on.leave(101)
    assert on.engine.has_recipe("recipe 0")
    assert not on.engine.has_recipe("recipe 1")


def test_a_name_is_free_for_another_dataset_once_nobody_reads_the_first() -> None:
    on = world()
    read(on, 1)
    with pytest.raises(BadArgument, match="Use a different key="):
        on.engine.handle(Join(2, "photos", np.arange(ROWS), ROWS + 1, 4))
    on.leave(1)
    read(on, 2, row_limit=ROWS + 1)
    assert on.prepared == 2 * ROWS
    assert len(on.slots) == ROWS  # what was left of the first is gone


def test_a_name_is_free_though_a_worker_still_prepares_for_those_who_had_it() -> None:
    on = world()
    on.join(Join(1, "photos", np.arange(ROWS), ROWS, 4))
    on.begin(1)
    on.want(1, 4)
    late = next(iter(on.to_do))
    on.leave(1)
    on.join(Join(2, "photos", np.arange(4), 4, 4))
    on.begin(2)
    on.want(2, 4)
    others = set(on.to_do) - {late}
    on.finish(late)
    on.settle()
    assert others
    assert not on.left[2]
    assert len(on.slots) == 4


def test_what_a_worker_finishes_after_the_last_job_has_left_is_kept_too() -> None:
    on = world()
    on.join(Join(1, "photos", np.arange(ROWS), ROWS, 4))
    on.begin(1)
    on.want(1, 4)
    on.finish(next(iter(on.to_do)))
    on.leave(1)
    assert on.to_do
    on.settle()
    assert on.ready
    assert on.engine.has_recipe("photos")
    assert on.engine.pinned_bytes == 0


def test_what_was_made_for_a_job_alone_goes_with_it() -> None:
    on = world()
    on.join(Join(1, "photos", np.arange(ROWS), ROWS, 4, own=True))
    on.begin(1)
    on.want(1, 4)
    on.work()
    assert on.held[1]
    on.leave(1)
    on.settle()
    alone = [s for s in on.slots if on.bytes[on.slots[s][0]].owner is not None]
    assert alone == []
    assert on.engine.has_recipe("photos")


def test_leaving_while_samples_are_held_leaves_no_lease() -> None:
    on = world()
    on.join(Join(1, "photos", np.arange(ROWS), ROWS, 4))
    on.begin(1)
    on.want(1, 4)
    on.work()
    assert on.held[1]
    on.forget_job(1)
    on.tell(Leave(1))
    assert on.engine.pinned_bytes == 0


def test_the_orders_of_a_cluster_go_on_when_a_recipe_is_closed_and_opened_again() -> None:
    recipes = Recipes(seed=1)
    first = recipes.open("photos", 50, stream=9)
    sampler = first.samplers.sampler("shared")
    sampler.add("job", range(50))
    order = sampler.draw({"job": 50})["job"].tolist()
    sampler.remove("job")
    recipes.close(first)
    again = recipes.open("photos", 50, stream=9).samplers.sampler("shared")
    again.add("job", range(50))
    assert again.draw({"job": 50})["job"].tolist() != order


def test_only_streams_of_a_cluster_have_clocks_that_others_hear() -> None:
    recipes = Recipes(seed=1)
    recipes.open("alone", 50)
    shared = recipes.open("photos", 50, stream=9)
    assert recipes.clocks() == {"photos": (9, 0, [])}
    sampler = shared.samplers.sampler("shared")
    sampler.add("job", range(50))
    sampler.draw({"job": 20})
    assert recipes.clocks() == {"photos": (9, 1, [(0, 1, 20, 50)])}
    recipes.hear(Hear("photos", 8, ((0, 7, 1, 50),)))  # of other orders: another life of a leader
    assert shared.samplers.latest == 1
    recipes.hear(Hear("photos", 9, ((0, 7, 1, 50),)))
    assert shared.samplers.latest == 7
