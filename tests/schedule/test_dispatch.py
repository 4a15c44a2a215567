"""Who prepares what: the job's own workers first, others that have nothing to do, no more births
than cores.

What is told of crews.

How many processors there are, as jobs come and go.
"""

import pytest

from joader.errors import BadArgument, BadMessage
from joader.messages import Failed, Finish, Sized, Stop
from joader.schedule.dispatch import GRACE_S, Homes, crew_figures
from tests.schedule.floor import LAYOUT, SLOT_BYTES, Floor, Nursery


def test_a_row_goes_to_the_crew_of_the_job_that_needs_it(floor: Floor) -> None:
    tickets = [floor.join(job) for job in (1, 2)]
    floor.prepare(2, 7)
    floor.settle()
    assert floor.of(tickets[0]) == []
    (worker,) = floor.of(tickets[1])
    assert worker.has == [7]


@pytest.mark.parametrize("weight", [0.0, -1.0, float("nan"), float("inf")])
def test_of_a_job_whose_weight_cannot_be_nothing_is_left(floor: Floor, weight: float) -> None:
    with pytest.raises(BadArgument, match="weight is"):
        floor.come(1, "ticket", weight=weight)
    assert not floor.dispatch.knows("ticket")
    assert floor.dispatch.statistics() == ()


def test_a_crew_that_is_idle_helps_one_that_has_more_than_it_can_take(floor: Floor) -> None:
    busy = floor.join(1, workers=1)
    floor.join(2, workers=1)
    helper = floor.idle_worker(2)
    floor.prepare(1, *range(10))
    floor.settle()
    (own,) = floor.of(busy)
    assert own.has
    assert helper.has
    assert set(own.has).isdisjoint(helper.has)


def test_who_has_something_in_hand_helps_nobody(floor: Floor) -> None:
    busy, other = floor.join(1, workers=1), floor.join(2, workers=1)
    floor.prepare(2, 100)
    floor.settle()
    (helper,) = floor.of(other)
    floor.prepare(1, *range(10))
    floor.settle()
    assert helper.has == [100]
    helper.report(100)
    floor.settle()
    assert helper.has
    assert set(helper.has) <= set(range(10))
    assert floor.of(busy)


def test_a_crew_with_rows_of_its_own_to_do_helps_nobody(floor: Floor) -> None:
    floor.join(1, workers=1)
    other = floor.join(2, workers=1)
    floor.prepare(1, *range(10))
    floor.prepare(2, *range(100, 110))
    floor.settle()
    (worker,) = floor.of(other)
    for _ in range(10):
        assert set(worker.has) <= set(range(100, 110))
        worker.report(worker.has[0])
        if not worker.has:
            break
    floor.settle()
    assert set(worker.has) <= set(range(10))  # now it does


@pytest.mark.parametrize(("code", "lends"), [("other", True), ("code", False)])
def test_who_has_other_code_or_keeps_its_workers_helps_nobody(
    floor: Floor, code: str, lends: bool
) -> None:
    floor.join(1, workers=1)
    idle = floor.join(2, code=code, workers=1, lend=lends)
    floor.prepare(2, 100, code=code)
    floor.settle()
    (worker,) = floor.of(idle)
    worker.report(100)
    floor.prepare(1, *range(10))
    floor.settle()
    assert worker.has == []


def test_a_crew_that_keeps_its_workers_is_helped_by_others(floor: Floor) -> None:
    floor.join(1, workers=1, lend=False)
    floor.join(2, workers=1)
    worker = floor.idle_worker(2)
    floor.prepare(1, *range(10))
    floor.settle()
    assert worker.has


def test_a_job_without_workers_is_served_by_who_has_its_code(floor: Floor) -> None:
    ticket = floor.join(1)
    floor.prepare(99, 5)
    floor.settle()
    assert floor.of(ticket)[0].has == [5]


def test_a_row_that_nobody_has_the_code_for_is_refused(floor: Floor) -> None:
    floor.join(1, code="other")
    floor.prepare(2, 5)
    assert [event.samples for event in floor.lost] == [(5,)]


def test_a_crew_whose_jobs_have_left_is_asked_for_nothing(floor: Floor) -> None:
    floor.join(1)
    floor.leave(1)
    floor.prepare(2, 5)
    assert [event.samples for event in floor.lost] == [(5,)]


# Births.


def test_no_more_are_born_than_the_machine_has_cores(floor: Floor) -> None:
    ticket = floor.join(1)
    floor.prepare(1, *range(100))
    floor.settle()
    assert sorted(worker.number for worker in floor.of(ticket)) == [0, 1, 2, 3]


def test_no_more_are_born_than_there_is_to_do(floor: Floor) -> None:
    ticket = floor.join(1)
    floor.prepare(1, 1, 2)
    floor.settle()
    assert len(floor.of(ticket)) == 2


@pytest.mark.parametrize("workers", [1, 2, 7])
def test_no_more_are_born_than_the_loader_lends_however_many_cores(
    floor: Floor, workers: int
) -> None:
    ticket = floor.join(1, workers=workers)
    floor.prepare(1, *range(100))
    floor.settle()
    assert len(floor.of(ticket)) == workers


def test_of_equal_jobs_together_there_are_as_many_as_cores_and_of_each_one(
    floor: Floor,
) -> None:
    tickets = [floor.join(job) for job in range(6)]
    for job in range(6):
        floor.prepare(job, *range(100 * job, 100 * job + 50))
        floor.settle()
    counts = [len(floor.of(ticket)) for ticket in tickets]
    assert counts[0] == 4
    assert all(count >= 1 for count in counts)
    assert sum(counts) <= 4 + 5


def test_jobs_with_different_code_have_their_shares_of_the_cores(floor: Floor) -> None:
    tickets = [floor.join(job, code=f"code {job}") for job in range(2)]
    for job in range(2):
        floor.prepare(job, *range(100 * job, 100 * job + 50), code=f"code {job}")
    floor.settle()
    assert [len(floor.of(ticket)) for ticket in tickets] == [2, 2]


def test_who_keeps_its_workers_takes_none_of_the_room_of_others(floor: Floor) -> None:
    own = floor.join(1, workers=4, lend=False)
    floor.prepare(1, *range(50))
    floor.settle()
    ticket = floor.join(2)
    floor.prepare(2, *range(100, 150))
    floor.settle()
    assert len(floor.of(own)) == 4
    assert len(floor.of(ticket)) == 4


def test_nothing_is_born_before_the_nursery_is_here(floor: Floor) -> None:
    floor.come(1, "ticket")
    floor.prepare(1, 1)
    floor.settle()
    assert not floor.dispatch.expects("ticket", 0)
    assert "not started yet" in floor.whereabouts(1)
    floor.join(1, ticket="ticket")
    floor.settle()
    assert floor.of("ticket")[0].has == [1]


@pytest.mark.parametrize("gone", [False, True], ids=["it has not come", "it was killed"])
def test_what_a_job_without_its_nursery_was_to_do_others_with_its_code_do(
    floor: Floor, gone: bool
) -> None:
    floor.come(1, "first")
    if gone:
        Nursery(floor, "first").go()  # its job computes, and sees it only later
    floor.join(2)
    floor.prepare(1, 5)  # for both: the second waits for it, too
    floor.later(5.0)
    assert 5 in floor.has()


def test_only_workers_that_were_asked_for_are_expected(floor: Floor) -> None:
    ticket = floor.join(1)
    floor.prepare(1, 1)
    assert floor.dispatch.expects(ticket, 0)
    assert not floor.dispatch.expects(ticket, 1)
    assert not floor.dispatch.expects("another", 0)
    floor.settle()
    assert not floor.dispatch.expects(ticket, 0)  # it has come


# Coming and going.


def test_one_nursery_serves_all_passes_of_a_loader_and_no_two_recipes(floor: Floor) -> None:
    floor.join(1, ticket="loader")
    floor.join(2, ticket="loader")
    with pytest.raises(BadMessage, match="two recipes"):
        floor.come(3, "loader", "other")
    floor.leave(1)
    assert floor.lost == []
    floor.prepare(2, 5)
    floor.settle()
    assert floor.of("loader")[0].has == [5]


def test_what_no_worker_of_a_job_that_leaves_has_is_told_and_what_one_has_is_finished(
    floor: Floor,
) -> None:
    ticket = floor.join(1, workers=1)
    floor.prepare(1, *range(10))
    floor.settle()
    (worker,) = floor.of(ticket)
    in_hand = worker.has
    floor.leave(1)
    (gone,) = floor.lost
    assert not gone.blamed
    assert sorted([*gone.samples, *in_hand]) == list(range(10))
    worker.report(*in_hand)
    floor.settle()
    assert floor.prepared == in_hand
    assert worker in floor.told_to_stop()
    assert floor.lost == [gone]


def test_workers_of_a_job_that_is_gone_get_a_moment_and_no_longer(floor: Floor) -> None:
    ticket = floor.join(1, workers=1)
    floor.prepare(1, 1, 2)
    floor.settle()
    (worker,) = floor.of(ticket)
    floor.leave(1)
    floor.later(GRACE_S / 2)
    assert worker.alive
    floor.later(GRACE_S)
    assert not worker.alive
    assert floor.nurseries[ticket].closed
    (lost,) = floor.lost
    assert sorted(lost.samples) == [1, 2]
    assert not lost.blamed
    with pytest.raises(BadMessage, match="not here any more"):
        floor.dispatch.attend(ticket)


@pytest.mark.parametrize("said_so", [True, False])
def test_only_a_death_that_its_nursery_did_not_announce_is_warned_of(
    floor: Floor, said_so: bool
) -> None:
    ticket = floor.join(1, workers=1)
    floor.prepare(1, 1, 2)
    floor.settle()
    (worker,) = floor.of(ticket)
    if said_so:
        floor.dispatch.attend(ticket, here=False)
    worker.die()
    assert sorted(sample for lost in floor.lost for sample in lost.samples) == [1, 2]
    assert bool(floor.warnings) is not said_so


@pytest.mark.parametrize("seen", [True, False])
def test_a_worker_is_not_blamed_for_its_nursery_s_death_if_the_next_is_here_before(
    floor: Floor, seen: bool
) -> None:
    """How a worker ended is known later than that its nursery has; another is here at once."""
    ticket = floor.join(1, workers=1)
    floor.prepare(1, 1, 2)
    floor.settle()
    (worker,) = floor.of(ticket)
    worker.begin(1)
    if seen:
        floor.dispatch.attend(ticket, here=False)
    floor.dispatch.attend(ticket)
    worker.die()
    assert [lost.blamed for lost in floor.lost] == [False]
    assert not floor.warnings
    floor.prepare(1, 1, 2)
    floor.settle()
    assert sorted(floor.of(ticket)[-1].has) == [1, 2]


def test_a_loader_that_comes_back_in_time_keeps_its_nursery(floor: Floor) -> None:
    ticket = floor.join(1)
    floor.prepare(1, 1)
    floor.settle()
    floor.of(ticket)[0].report(1)
    floor.leave(1)
    floor.join(2, ticket=ticket)
    floor.later(2 * GRACE_S)
    assert not floor.nurseries[ticket].closed
    floor.prepare(2, 5)
    floor.settle()
    assert 5 in floor.has()


def test_who_helped_a_job_that_left_goes_on(floor: Floor) -> None:
    floor.join(1, workers=1)
    floor.join(2, workers=1)
    helper = floor.idle_worker(2)
    floor.prepare(1, *range(10))
    floor.settle()
    taken = helper.has
    assert taken
    floor.leave(1)
    assert not {sample for event in floor.lost for sample in event.samples} & set(taken)
    floor.later(2 * GRACE_S)
    assert helper.alive
    helper.report(*taken)
    assert set(floor.prepared) >= set(taken)


def test_who_has_nothing_in_hand_is_told_to_end_when_all_ends(floor: Floor) -> None:
    ticket = floor.join(1, workers=2)
    floor.prepare(1, 1, 2, 3)
    floor.settle()
    idle, busy = floor.of(ticket)
    idle.report(*idle.has)
    floor.dispatch.close()
    floor.act()
    assert Stop in idle.told
    assert Stop not in busy.told
    busy.die()
    assert floor.lost == []  # nobody is to be told any more


# Own parts.


def test_an_own_part_goes_along_with_its_source(floor: Floor) -> None:
    ticket = floor.join(1, workers=2)
    floor.prepare(1, 1, 2, 3)
    floor.settle()
    floor.finish(13, 3)
    floor.feed()
    (worker,) = (worker for worker in floor.of(ticket) if 3 in worker.has)
    assert worker.has[-2:] == [3, 13]


def test_an_own_part_of_what_waits_is_held_until_it_is_handed_out(floor: Floor) -> None:
    ticket = floor.join(1, workers=1)
    floor.prepare(1, 1, 2, 3)
    floor.settle()
    (worker,) = floor.of(ticket)
    floor.finish(13, 3)
    assert "shared part" in floor.whereabouts(13)
    worker.report(1)
    floor.settle()
    assert worker.has == [2, 3, 13]


def test_an_own_part_of_what_a_helper_prepares_is_done_at_home_and_first(
    floor: Floor,
) -> None:
    home = floor.join(1, workers=1)
    floor.join(2, workers=1)
    helper = floor.idle_worker(2)
    floor.prepare(1, *range(10))
    floor.settle()
    (own,) = floor.of(home)
    source = helper.has[0]
    floor.finish(50, source)
    helper.report(source)
    own.report(own.has[0])
    floor.settle()
    assert 50 in own.has
    (order,) = [one for one in own.said if isinstance(one, Finish) and one.samples == (50,)]
    assert order.layouts == (LAYOUT,)
    assert order.source_offsets == (source * SLOT_BYTES,)


def test_an_own_part_never_goes_to_another_crew(floor: Floor) -> None:
    floor.join(1, workers=1)
    floor.join(2, workers=1)
    helper = floor.idle_worker(2)
    for sample in range(10):
        floor.finish(50 + sample, 999, LAYOUT)
    floor.feed()
    floor.settle()
    assert helper.has == []


def test_what_is_held_for_a_row_that_fails_is_dropped(floor: Floor) -> None:
    home = floor.join(1, workers=1)
    floor.join(2, workers=1)
    helper = floor.idle_worker(2)
    floor.prepare(1, *range(10))
    floor.settle()
    source = helper.has[0]
    floor.finish(50, source)
    helper.say(Failed(source, "bad row"))
    for worker in (helper, *floor.of(home)):
        for _ in range(20):
            worker.report(*worker.has)
            floor.settle()
    assert 50 not in set(floor.prepared)
    assert floor.whereabouts(50) == "is in no worker's hands"


def test_the_nursery_is_asked_by_numbers_that_nobody_has(floor: Floor) -> None:
    ticket = floor.join(1, workers=3)
    floor.prepare(1, *range(20))
    floor.settle()
    floor.of(ticket)[1].die()
    floor.later(1.5)
    assert floor.nurseries[ticket].numbers == [0, 1, 2, 1]


def test_own_parts_are_lost_with_the_row_they_wait_for_whoever_was_to_prepare_it(
    floor: Floor,
) -> None:
    first, second = floor.join(1, workers=1), floor.join(2, workers=1)
    floor.prepare(1, 7)
    floor.settle()
    floor.finish(8, 7, job=2)
    (worker,) = floor.of(first)
    worker.die()
    assert [event.samples for event in floor.lost] == [(7, 8)]
    # Row 7 comes again, for another: number and slot of what was to be made of it are others'.
    floor.prepare(1, 7)
    floor.later(1.5)
    floor.of(first)[0].report(7)
    floor.settle()
    assert floor.of(second) == []
    assert floor.has() == []


def test_rows_that_wait_in_vain_for_workers_to_be_born_are_done_by_another(floor: Floor) -> None:
    floor.join(1, workers=1)
    other = floor.join(2, workers=1)
    floor.prepare(1, 7)
    floor.nurseries["ticket 1"].asked()  # it is stopped, and bears nobody
    floor.look()
    assert floor.nurseries[other].numbers == []  # it may still be born
    floor.now += 1.5
    floor.look()
    assert floor.nurseries[other].numbers == [0]


def test_figures_say_who_is_in_a_crew_and_what_waits_for_it(floor: Floor) -> None:
    ticket = floor.join(1, workers=1, ticket="0123456789abcdef")
    floor.come(2, ticket, workers=1, lend=False)
    floor.prepare(1, *range(10))
    (waiting,) = floor.dispatch.statistics()
    assert waiting.ticket == "01234567"  # all of it would let a process in as a worker
    assert (waiting.jobs, waiting.lends, waiting.workers) == ((1, 2), False, ())
    assert (waiting.queued, waiting.in_hand, waiting.on_their_way) == (10, 0, 1)
    floor.settle()
    (worker,) = floor.of(ticket)
    (at_work,) = floor.dispatch.statistics()
    assert at_work.workers == (worker.pid,)
    assert at_work.in_hand == len(worker.has) > 0
    assert (at_work.queued, at_work.on_their_way) == (10 - len(worker.has), 0)


def test_own_parts_that_are_held_for_their_source_count_as_queued(floor: Floor) -> None:
    floor.join(1, workers=1)
    floor.prepare(1, 5)
    floor.finish(100, source=5)
    assert [crew.queued for crew in floor.dispatch.statistics()] == [2]


def test_own_parts_of_what_was_dropped_are_not_lost_with_their_job(floor: Floor) -> None:
    """Their numbers may be others' by now."""
    home = floor.join(1, workers=1)
    floor.join(2, workers=1)
    floor.prepare(1, 7)
    floor.settle()
    floor.finish(8, 7, job=2)
    floor.of(home)[0].say(Sized((7,), (2 * SLOT_BYTES,)))
    floor.dispatch.drop((7,))
    floor.leave(2)
    assert floor.lost == []


def test_a_row_that_goes_whole_is_done_by_its_jobs_own_crew_or_by_nobody() -> None:
    floor = Floor(cores=4)
    floor.join(1, "code", workers=1)
    floor.join(2, "code", workers=1)
    floor.prepare(1, *range(10, 30), whole=True)
    floor.settle()
    assert {worker.ticket for worker in floor.workers if worker.has} == {"ticket 1"}
    floor.leave(1)
    floor.prepare(1, 40, whole=True)
    assert 40 in {sample for event in floor.lost for sample in event.samples}


def test_what_a_stopped_job_had_in_hand_does_not_go_to_another_of_its_workers() -> None:
    floor = Floor(cores=4)
    floor.join(1, "code", workers=2)
    floor.prepare(1, 100)
    floor.settle()
    floor.join(2, "code", workers=1)
    (stopped,) = [worker for worker in floor.workers if worker.has]
    stopped.begin(100)
    floor.later(5.0)
    assert stopped.state.late
    # The engine tells the row anew, for the job that asked for it first, as it knows no workers.
    floor.prepare(1, 101)
    floor.settle()
    assert [worker.ticket for worker in floor.workers if 101 in worker.has] == ["ticket 2"]


def test_figures_say_who_is_there_and_what_waits() -> None:
    floor = Floor(cores=1)
    ticket = floor.join(1, workers=1)
    floor.prepare(1, 1, 2, 3, 4)
    floor.settle()
    (crew,) = crew_figures(floor.dispatch.staff)
    assert crew.ticket == ticket[:8]
    assert crew.workers == (floor.workers[0].pid,)
    assert crew.queued + crew.in_hand == 4
    assert crew.in_flight == 1
    assert (crew.row_s, crew.computing_s, crew.storage_s, crew.core_s) == (0.0, 0.0, 0.0, 0.0)
    assert (crew.most, crew.in_flight_most, crew.reads_ahead) == (1, 0, False)


def test_one_home_has_no_bounds_of_its_own() -> None:
    homes = Homes(2, 8)
    assert (homes.cores, homes.bounds) == (2, {})
    homes.join("a", "/x on 0,1,2,3", 4)
    homes.join("b", "/x on 0,1,2,3", 4)
    assert (homes.cores, homes.bounds) == (4, {})
    homes.leave("a")
    homes.leave("a")
    homes.leave("b")
    assert homes.cores == 2


@pytest.mark.parametrize(("other", "cores"), [("/y on 4,5", 6), ("/y on 3,4", 5), ("", 6)])
def test_homes_apart_add_up_and_those_that_overlap_count_once(other: str, cores: int) -> None:
    homes = Homes(2, 8)
    homes.join("a", "/x on 0,1,2,3", 4)
    homes.join("b", other, 2 if other else 0)
    assert homes.cores == cores
    assert homes.bounds == {"/x on 0,1,2,3": 4.0, other: 2.0}


def test_there_are_no_more_than_the_machine_has() -> None:
    homes = Homes(2, 6)
    homes.join("a", "/x", 4)
    homes.join("b", "/y", 4)
    assert homes.cores == 6
