"""The engine on paper: exactly once, in plan order, within the budget, and nobody is forgotten."""

from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from joader.engine import ON_DEMAND, Engine, Limits
from joader.errors import BadArgument, BadRows, JobExists, UnknownJob
from joader.messages import (
    Begin,
    Deliver,
    Join,
    Leave,
    Lost,
    Place,
    Prepare,
    Prepared,
    Release,
    Sized,
    Want,
)
from joader.sampling import LockstepSampler, StreamSampler
from tests.engine.world import World

SIZE = 100


def world(slots: int = 400) -> World:
    return World(slots * 128, lambda row: SIZE)


def join(job: int, rows: int = 200, batch: int = 8, **more: object) -> Join:
    more.setdefault("recipe", "photos")
    more.setdefault("row_limit", rows)
    return Join(job=job, rows=np.arange(rows), batch_size=batch, **more)  # type: ignore[arg-type]


def run(on: World, jobs: dict[int, int]) -> None:
    """Let all jobs read to the end of their pass, each in batches of its size."""
    while todo := [job for job in jobs if len(on.got[job]) < on.rows[job].size]:
        for job in todo:
            left = on.rows[job].size - len(on.got[job])
            on.want(job, min(jobs[job], left))
        on.settle()


def test_one_job_gets_every_position_once_in_batches() -> None:
    on = world()
    on.join(join(1))
    on.begin(1)
    run(on, {1: 8})
    assert sorted(on.got[1]) == list(range(200))
    assert on.got[1] != list(range(200))
    assert on.prepared == 200
    stats = on.engine.statistics().jobs[1]
    assert stats.delivered == 200 == stats.prepared


def test_equal_jobs_prepare_each_sample_once() -> None:
    on = world()
    for job in range(4):
        on.join(join(job))
    for job in range(4):
        on.begin(job)
    run(on, dict.fromkeys(range(4), 8))
    assert all(sorted(on.got[job]) == list(range(200)) for job in range(4))
    assert on.prepared == 200
    stats = [on.engine.statistics().jobs[job] for job in range(4)]
    assert sum(s.prepared for s in stats) == 200
    assert sum(s.shared for s in stats) == 600


@pytest.mark.parametrize("order", ["seeded", "given"])
def test_other_orders_are_obeyed(order: str) -> None:
    on = world()
    on.join(join(1, order=order, seed=3))
    on.begin(1)
    run(on, {1: 8})
    again = world()
    again.join(join(1, order=order, seed=3))
    again.begin(1)
    run(again, {1: 8})
    assert on.got[1] == again.got[1]
    assert (on.got[1] == list(range(200))) == (order == "given")


def test_rows_that_stand_at_several_positions_are_read_at_each() -> None:
    on = world()
    rows = np.array([3, 1, 3, 3, 0, 1, 2])
    on.join(Join(1, "photos", rows, 4, 2))
    on.begin(1)
    run(on, {1: 2})
    assert sorted(on.got[1]) == list(range(7))
    assert on.prepared <= 7


def test_what_is_kept_serves_the_next_pass_but_a_fresh_instance_serves_a_job_once() -> None:
    for fresh, expected in ((False, 200), (True, 400)):
        on = world(slots=1000)
        on.join(join(1, fresh=fresh))
        for epoch in range(2):
            on.begin(1, epoch)
            run(on, {1: 8})
            assert sorted(on.got[1]) == list(range(200))
        assert on.prepared == expected


def test_fresh_instances_are_shared_between_jobs() -> None:
    on = world(slots=1000)
    for job in (1, 2):
        on.join(join(job, fresh=True))
    for epoch in range(3):
        for job in (1, 2):
            on.begin(job, epoch)
        run(on, {1: 8, 2: 8})
    assert on.prepared == 600


def test_jobs_that_read_for_the_same_never_get_a_fresh_instance_twice() -> None:
    on = world(slots=2000)
    on.join(join(9, fresh=True))  # keeps the recipe, and what is prepared of it
    for job, whom, expected in ((1, "a", 200), (2, "a", 400), (3, "b", 400), (4, "a", 600)):
        on.join(join(job, fresh=True, reads_for=whom))
        on.begin(job)
        run(on, {job: 8})
        on.leave(job)
        assert on.prepared == expected


def zipped(on: World, rows: np.ndarray[Any, np.dtype[np.int64]], **more: Any) -> None:
    """Read two passes of one loader, the second begun in the middle of the first."""
    on.starts_differ = True
    for job in (1, 2):
        on.join(Join(job, "photos", rows, 40, 4, fresh=True, reads_for="loader", **more))
        on.begin(job)
        on.want(job, 4)
        on.settle()
        on.want(job, 4)
    run(on, {1: 4, 2: 4})
    assert sorted(on.got[1]) == sorted(on.got[2]) == list(range(rows.size))


@pytest.mark.parametrize("own", [False, True])
def test_two_passes_of_one_loader_get_no_sample_that_starts_from_the_same_random_numbers(
    own: bool,
) -> None:
    zipped(world(slots=1000), np.arange(40), own=own)


def test_nor_do_positions_of_one_row() -> None:
    on = world(slots=12)
    on.starts_differ = True
    on.join(Join(1, "photos", np.zeros(60, np.int64), 40, 2, fresh=True))
    on.begin(1)
    for _ in range(30):
        on.want(1, 2)
        on.settle()
        on.take_back(1)
    assert sorted(on.got[1]) == list(range(60))


def test_where_random_numbers_started_is_forgotten_with_the_passes() -> None:
    on = world(slots=1000)
    for job in (1, 2):
        on.join(join(job, rows=40, batch=4, fresh=True, reads_for="loader", order="joint"))
        on.begin(job)
        on.want(job, 4)
        on.settle()
        on.want(job, 4)
    run(on, {1: 4, 2: 4})
    assert on.engine._supply._used
    for job in (1, 2):
        on.leave(job)
    assert not on.engine._supply._used


def test_passes_of_one_loader_with_a_seed_of_its_own_get_what_each_would_get_alone() -> None:
    zipped(world(slots=1000), np.arange(40), order="seeded", seed=3)


def test_a_job_that_stops_reading_does_not_stop_another() -> None:
    on = world(slots=40)
    on.join(join(1))
    on.join(join(2))
    on.begin(1)
    on.begin(2)
    on.want(2, 8)  # and never again, nor does it release
    while len(on.got[1]) < 200:
        on.want(1, 8)
        for sample in list(on.to_do):
            if sample in on.to_do:
                on.finish(sample)
        while on.held[1]:
            on.release(1)
    assert sorted(on.got[1]) == list(range(200))


def test_newcomers_get_their_shares_of_what_a_stopped_job_asked_for_ahead() -> None:
    on = World(40 * 128, lambda row: SIZE, Limits(ahead_part=4))
    on.join(join(1, batch=2))
    on.begin(1)
    on.want(1, 2)
    on.work()
    assert on.engine.pinned_bytes == 10 * 128  # and never again, nor does it release
    newcomers = range(2, 10)
    for job in newcomers:  # with a share of 4 each: 2 more than there is beside those 10
        on.join(join(job, batch=2, recipe=f"recipe {job}"))
        on.begin(job)
    for _ in range(3):
        for job in newcomers:
            on.want(job, 2)
            on.work()
            assert on.wants[job] == []
            on.release(job)
    assert on.engine._readers[1].window.size <= 8


def test_what_a_dead_worker_had_is_not_tried_again_for_nobody() -> None:
    on = world()
    on.join(join(1))
    on.begin(1)
    first = list(on.to_do)
    on.leave(1)
    on.lose(first)
    assert on.to_do == {}
    assert len(on.engine._recipes) == 0


def test_what_a_dead_worker_had_is_not_tried_again_for_a_job_that_leaves_with_it() -> None:
    on = world()
    on.join(join(1))
    on.begin(1)
    first = tuple(on.to_do)
    said = on.engine.handle(Lost(first, "worker died"), Leave(1))
    assert not [one for one in said if isinstance(one, Prepare)]
    assert len(on.engine._recipes) == 0


def test_a_budget_too_small_for_a_share_is_refused_with_the_number_needed() -> None:
    on = World(20 * 128, lambda row: SIZE)
    on.join(join(1, batch=8))
    on.begin(1)
    on.want(1, 8)
    on.settle()
    assert len(on.got[1]) == 8
    on.join(join(2, batch=8))
    assert "`joader up --memory 4KiB`, or use smaller batches" in on.refused[2]
    run(on, {1: 8})
    assert sorted(on.got[1]) == list(range(200))


def test_a_sample_larger_than_the_budget_fails_with_both_numbers() -> None:
    on = World(10 * 128, lambda row: 2000 if row == 3 else 100)
    on.join(join(1, rows=20, batch=2))
    on.begin(1)
    run(on, {1: 2})
    assert sorted(on.got[1]) == list(range(20))
    assert on.refused == {}
    assert on.failed[1] == [3]


def test_a_row_that_fails_is_reported_to_all_that_wait_and_the_rest_goes_on() -> None:
    on = world()
    for job in (1, 2):
        on.join(join(job, rows=20, batch=4))
        on.begin(job)
    while any(len(on.got[job]) < 20 for job in (1, 2)):
        for job in (1, 2):
            on.want(job, min(4, 20 - len(on.got[job])) or 1)
        for sample in list(on.to_do):
            if sample in on.to_do:
                (on.fail if on.to_do[sample].row == 7 else on.finish)(sample)
        for job in (1, 2):
            on.release(job)
    assert sorted(on.got[1]) == sorted(on.got[2]) == list(range(20))
    assert on.failed[1] == on.failed[2] == [7]


def test_a_dead_workers_samples_are_tried_once_more() -> None:
    on = world()
    on.join(join(1, rows=10, batch=2))
    on.begin(1)
    on.want(1, 2)
    first = list(on.to_do)
    on.lose(first)
    assert list(on.to_do) == first
    on.lose(first)
    assert on.to_do  # the next samples of the recipe now tell its size
    run_off = 10
    while len(on.got[1]) < 10 and run_off:
        on.settle()
        on.want(1, min(2, 10 - len(on.got[1])) or 1)
        run_off -= 1
    assert len(on.failed[1]) == len(first)


@pytest.mark.parametrize("own", [False, True])
def test_a_slow_first_row_does_not_hold_up_its_recipe(own: bool) -> None:
    on = world()
    on.join(join(1, rows=40, batch=8, own=own))
    on.begin(1)
    on.want(1, 8)
    slow = next(iter(on.to_do))
    begun = {slow}
    while others := [
        sample
        for sample, order in on.to_do.items()
        if slow not in (sample, getattr(order, "source", -1))
    ]:
        begun |= set(others)
        on.finish(others[0])
    rows = {on.engine.row_of(1, sample) for sample in begun}
    assert len(rows) >= 16  # the batch in hand and the next
    on.finish(slow)
    run(on, {1: 8})
    assert sorted(on.got[1]) == list(range(40))


def test_a_job_that_leaves_frees_all_it_held_and_what_it_waited_for() -> None:
    on = world(slots=40)
    for job in (1, 2):
        on.join(join(job))
        on.begin(job)
        on.want(job, 8)
    for sample in list(on.to_do):
        if sample in on.to_do:
            on.finish(sample)
    on.leave(1)
    run(on, {2: 8})
    assert sorted(on.got[2]) == list(range(200))
    on.leave(2)
    on.settle()
    assert on.engine.pinned_bytes == 0
    assert set(on.slots) == on.ready


def test_taking_back_a_plan_loses_and_repeats_nothing() -> None:
    on = world()
    for job in (1, 2):
        on.join(join(job))
        on.begin(job)
    for _ in range(5):
        for job in (1, 2):
            on.want(job, 8)
        on.settle()
        on.take_back(1)
    run(on, {1: 8, 2: 8})
    assert sorted(on.got[1]) == sorted(on.got[2]) == list(range(200))


def test_a_pass_given_up_in_the_middle_begins_anew() -> None:
    on = world()
    on.join(join(1))
    on.begin(1)
    on.want(1, 8)
    on.settle()
    on.begin(1, epoch=1)
    run(on, {1: 8})
    assert sorted(on.got[1]) == list(range(200))


def test_a_resumed_pass_reads_what_was_not_done() -> None:
    on = world()
    on.join(join(1))
    on.begin(1, done=np.arange(150))
    run(on, {1: 8})
    assert sorted(on.got[1]) == list(range(200))


def test_equal_events_give_equal_instructions() -> None:
    on = world(slots=60)
    for job in range(3):
        on.join(join(job, batch=4 + job))
        on.begin(job)
    run(on, {0: 4, 1: 5, 2: 6})
    replay = Engine(on.capacity, seed=5)
    for event, instructions in on.log:
        assert repr(replay.handle(event)) == repr(instructions)


def test_on_demand_nothing_is_prepared_before_it_is_wanted_and_nobody_is_refused() -> None:
    on = World(2 * 128, lambda row: SIZE, ON_DEMAND)
    for job in range(5):
        on.join(join(job, batch=1))
        on.begin(job)
    assert on.to_do == {}
    while any(len(on.got[job]) < 200 for job in range(5)):
        for job in range(5):
            on.wants[job].append(1)
        for instruction in on.engine.handle(*(Want(job, 1) for job in range(5))):
            on.carry_out(instruction)
        on.settle()
    assert on.prepared == 200
    assert on.refused == {}


def test_what_jobs_want_at_one_moment_is_drawn_jointly() -> None:
    sets = (np.arange(200), np.arange(100))
    matches = 0
    engine = Engine(64, seed=1, limits=ON_DEMAND)
    for job, rows in enumerate(sets):
        engine.handle(Join(job, "photos", rows, 200, 1, order="joint"), Begin(job))
    for _ in range(50):
        engine.handle(Want(0, 1), Want(1, 1))
        planned = [engine._readers[job].window.places for job in (0, 1)]
        matches += planned[0] == planned[1]
        for job in (0, 1):
            done = np.setdiff1d(sets[job], engine._readers[job].plan.sampler.unread(job))
            engine.handle(Begin(job, 0, done))
    assert matches > 10


def test_recipes_draw_with_the_sampler_they_are_given() -> None:
    make = {"joint": LockstepSampler, "shared": StreamSampler}
    engine = Engine(64, limits=ON_DEMAND, make_sampler=lambda order, seed: make[order](seed))
    for job in (0, 1):
        engine.handle(Join(job, "photos", np.arange(9), 9, 1, order="joint"), Begin(job))
    with pytest.raises(BadArgument, match="every lockstep job must take part"):
        engine.handle(Want(0, 1))


def test_what_came_before_a_wrong_event_of_the_same_moment_is_not_lost() -> None:
    on = world()
    with pytest.raises(UnknownJob):
        on.engine.handle(join(1), Begin(1), Want(9, 1))
    assert [type(said) for said in on.engine.handle(Want(1, 8))] == [Prepare]


@pytest.mark.parametrize(
    "name", ["share_batches", "least_ahead", "horizon_s", "ahead_part", "pace_s"]
)
def test_limits_that_cannot_be_meant_are_refused(name: str) -> None:
    with pytest.raises(BadArgument, match=f"{name}=-1"):
        Limits(**{name: -1})


def test_wrong_events_are_refused() -> None:
    on = world()
    on.join(join(1))
    for wrong, error in (
        (join(1), JobExists),
        (join(2, batch=0), BadArgument),
        (join(2, order="best"), BadArgument),
        (join(2, order="seeded", seed=-1), BadArgument),
        (join(2, row_limit=300), BadArgument),
        (Join(2, "x", np.array([5]), 5, 1), BadRows),
        (Want(9, 1), UnknownJob),
        (Want(1, 1), BadArgument),  # before a pass
        (Begin(1, -1), BadArgument),
        (Begin(1, 0, np.array([200])), BadArgument),
    ):
        with pytest.raises(error):
            on.engine.handle(wrong)
    assert len(on.engine._recipes) == 1
    on.begin(1)
    with pytest.raises(BadArgument, match="batch size, 8"):
        on.engine.handle(Want(1, 9))
    run(on, {1: 8})
    assert sorted(on.got[1]) == list(range(200))


def test_what_is_not_held_cannot_be_released() -> None:
    on = world()
    on.join(join(1))
    on.begin(1)
    on.want(1, 8)
    on.work()
    held, asked = on.held[1][0], on.engine._readers[1].window.samples
    for wrong in ([*held, held[0]], [asked[0]]):  # asked for: leased, but not the job's yet
        with pytest.raises(BadArgument, match="release each once"):
            on.engine.handle(Release(1, np.array(wrong)))
    run(on, {1: 8})
    assert sorted(on.got[1]) == list(range(200))


def test_a_want_after_the_end_is_answered_with_nothing() -> None:
    on = world()
    on.join(join(1, rows=0, row_limit=1))
    on.begin(1)
    on.want(1, 8)
    assert on.wants[1] == []
    assert on.got[1] == []


@pytest.mark.parametrize("order", ["seeded", "given"])
def test_a_resumed_pass_keeps_its_own_order(order: str) -> None:
    on = world()  # checks the order of each delivery
    on.join(join(1, order=order, seed=3))
    on.begin(1, epoch=2)
    for _ in range(3):
        on.want(1, 8)
        on.settle()
    on.begin(1, epoch=2, done=np.array(on.got[1]))
    run(on, {1: 8})
    assert sorted(on.got[1]) == list(range(200))


def test_a_row_that_failed_at_one_position_may_be_had_at_another() -> None:
    on = world()
    on.join(Join(1, "photos", np.zeros(200, np.int64), 1, 1, order="given"))
    on.begin(1)
    for _ in range(100):
        on.want(1, 1)
        on.fail(0) if 0 in on.to_do and len(on.log) % 2 else on.settle()
    run(on, {1: 1})
    assert sorted(on.got[1]) == list(range(200))


def test_wants_in_a_burst_do_not_make_a_job_look_far_ahead() -> None:
    on = world()
    on.join(join(1))
    on.begin(1)
    on.want(1, 8, now=10.0)
    on.want(1, 8, now=10.00001)
    assert on.engine._readers[1].look_ahead == Limits().least_ahead


def test_look_ahead_takes_a_part_of_the_memory_only() -> None:
    on = world(slots=1600)
    for job in (1, 2):
        on.join(join(job, rows=2000))
        on.begin(job)
    for step in range(100):
        for job in (1, 2):
            on.want(job, 8, now=step * 0.01)
        on.settle()
    assert on.engine._readers[1].look_ahead == 1600 // Limits().ahead_part // 2


def test_a_job_looks_ahead_by_what_it_reads_in_half_a_second() -> None:
    on = world(slots=8000)
    on.join(join(1, rows=2000))
    on.begin(1)
    for step in range(200):
        on.want(1, 8, now=step * 0.02)
        on.settle()
    assert 170 < on.engine._readers[1].look_ahead < 220


def test_a_job_that_runs_is_not_refused_for_one_that_is_measured_later() -> None:
    on = World(20 * 128, lambda row: SIZE)
    on.join(join(1, recipe="other", batch=8))
    on.join(join(2, batch=8))
    on.begin(2)
    on.want(2, 8)
    on.settle()
    on.begin(1)
    on.want(1, 8)
    on.settle()
    assert list(on.refused) == [1]


def test_numbers_of_recipes_that_are_gone_are_given_to_others() -> None:
    on = world()
    for job in range(100):
        on.join(join(job, recipe=f"recipe {job}"))
        if job:
            on.leave(job - 1)
    assert on.engine._readers[99].recipe.base <= 200


def test_different_recipes_share_nothing() -> None:
    on = world()
    on.join(join(1))
    on.join(join(2, recipe="other"))
    on.begin(1)
    on.begin(2)
    run(on, {1: 8, 2: 8})
    assert on.prepared == 400


def test_instructions_are_plain_values() -> None:
    on = world()
    on.join(join(1, rows=5, batch=2))
    on.begin(1)
    on.want(1, 2)
    on.settle()
    kinds = {type(i) for _, instructions in on.log for i in instructions}
    assert {Prepare, Deliver} <= kinds


def test_the_pace_of_a_job_is_known_soon_and_does_not_depend_on_its_batches() -> None:
    on = world(slots=4000)
    on.join(join(1, rows=2000, batch=50))
    on.begin(1)
    on.want(1, 50, now=1000.0)
    on.want(1, 50, now=1000.0)
    reader = on.engine._readers[1]
    assert not reader.pace.known
    for step in range(1, 21):
        on.want(1, 50, now=1000.0 + step)
    assert reader.pace.known
    assert reader.pace.per_s == pytest.approx(50.0, rel=0.01)


def test_what_no_job_can_mean_is_refused_and_changes_nothing() -> None:
    engine = Engine(2**16)
    good = Join(1, "photos", np.arange(4), 4, 2)
    changes: tuple[dict[str, Any], ...] = (
        {"row_limit": -1, "rows": np.empty(0, np.int64)},
        {"row_limit": 2**40},
        {"batch_size": 2**40, "order": "told"},
        {"world_size": 2**40, "team": "t"},
        {"world_size": 0},
        {"team": "t", "rank": 2, "world_size": 2},
        {"seed": -1},
        {"order": "mine"},
    )
    for change in changes:
        with pytest.raises(BadArgument):
            engine.handle(replace(good, **change))
    engine.handle(good)
    for event in (
        Begin(1, -1),
        Begin(1, 0, np.array([4])),
        Begin(1, 0, np.array([-1])),
        Release(1, np.arange(100)),
        Want(1, 1),
    ):
        with pytest.raises(BadArgument):
            engine.handle(event)
    assert [type(i) for i in engine.handle(Begin(1), Want(1, 2))] == [Prepare]


def test_a_rank_that_begins_where_it_cannot_has_not_begun() -> None:
    engine = Engine(2**16)
    for rank in range(2):
        engine.handle(Join(rank, "photos", np.arange(8), 8, 2, team="t", rank=rank, world_size=2))
    engine.handle(Begin(0), Want(0, 2))
    with pytest.raises(BadArgument):
        engine.handle(Begin(1, 0, np.array([99])))
    assert engine.waits_for_ranks(0)[0] == "of 2 ranks of job 't' rank 1 is yet to begin the pass"


def test_samples_reported_together_are_as_if_each_was_reported():
    engines = [Engine(64 * 1000, seed=3) for _ in range(2)]
    to_do: list[list[int]] = []
    for engine in engines:
        said = engine.handle(Join(1, "r", np.arange(40), 40, 8), Begin(1), Want(1, 8))
        (first,) = [i for i in said if isinstance(i, Prepare)]
        said = engine.handle(Sized(first.samples[:1], (100,)))
        to_do.append([s for i in said if isinstance(i, Prepare | Place) for s in i.samples])
    assert to_do[0] == to_do[1]
    assert len(to_do[0]) > 8
    for sample in to_do[0][:10]:
        engines[0].take(Prepared((sample,), (100,)))
    engines[1].take(Prepared(tuple(to_do[0][:10]), (100,)))
    assert repr(engines[0].say()) == repr(engines[1].say())
    assert engines[0].statistics().memory == engines[1].statistics().memory
    assert engines[0].pinned_bytes == engines[1].pinned_bytes
