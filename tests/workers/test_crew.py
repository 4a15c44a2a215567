"""One crew: what each worker has in hand, whose fault a death is, what is late or idle."""

import pytest

from joader.messages import (
    Bear,
    CookedEach,
    Ended,
    Finish,
    HandBack,
    PutAt,
    Slay,
    Spoiled,
    Stop,
    TooBig,
)
from joader.workers.crew import IDLE_S, MOST_AHEAD
from joader.workers.watch import LATE_S, STUCK_S
from tests.workers.floor import LAYOUT, SLOT_BYTES, Floor, Nursery, Worker, on_floor


async def one_worker(floor: Floor, *samples: int) -> Worker:
    """Return the only worker of a crew, with samples in hand."""
    ticket = floor.join(1, workers=1)
    floor.cook(1, *samples)
    await floor.settle()
    (worker,) = floor.of(ticket)
    return worker


# Handing out.


@on_floor
async def test_a_worker_has_a_slow_row_in_hand_and_one_to_go_on_with(floor: Floor) -> None:
    worker = await one_worker(floor, *range(10))
    assert worker.has == [0, 1]
    worker.report(0)
    await floor.settle()
    assert worker.has == [1, 2]


@on_floor
async def test_a_worker_with_quick_rows_gets_them_in_large_parts(floor: Floor) -> None:
    worker = await one_worker(floor, *range(4000))
    most = 0
    while worker.has:
        worker.report(*worker.has)
        floor.clock.now += 1e-6
        await floor.settle()
        most = max(most, len(worker.has))
        assert len(worker.has) <= MOST_AHEAD
    assert most > 64
    assert len(floor.reports) == 4000


@on_floor
async def test_rows_are_handed_out_to_those_with_the_least_in_hand(floor: Floor) -> None:
    ticket = floor.join(1, workers=3)
    floor.cook(1, *range(6))
    await floor.settle()
    assert [len(worker.has) for worker in floor.of(ticket)] == [2, 2, 2]
    first, second, third = floor.of(ticket)
    first.report(*first.has)
    second.report(second.has[0])
    floor.cook(1, 10, 11)
    await floor.settle()
    assert 10 in first.has
    assert 11 in second.has or 11 in first.has
    assert len(third.has) == 2


@on_floor
async def test_a_report_of_what_nobody_waits_for_is_passed_over(floor: Floor) -> None:
    worker = await one_worker(floor, 1)
    worker.report(77)
    worker.say(CookedEach((77, 78), LAYOUT, SLOT_BYTES))
    worker.report(1)
    worker.report(1)
    assert [report.sample for report in floor.reports] == [1]
    assert worker.alive


@on_floor
async def test_of_several_reported_together_those_it_has_are_passed_on_once(floor: Floor) -> None:
    worker = await one_worker(floor, 1, 2)
    worker.say(CookedEach((2, 77, 2, 1), LAYOUT, SLOT_BYTES))
    (report,) = floor.reports
    assert report.samples == (2, 1)
    assert worker.has == []


@pytest.mark.parametrize("size_bytes", [0, SLOT_BYTES + 1])
@on_floor
async def test_a_worker_that_says_it_wrote_beyond_its_slot_is_killed(
    floor: Floor, size_bytes: int
) -> None:
    worker = await one_worker(floor, 1)
    worker.report(1, size_bytes=size_bytes)
    await floor.settle()
    assert not worker.alive
    assert floor.reports == []
    assert floor.lost[0][0] == (1,)


@on_floor
async def test_a_worker_that_says_what_is_no_message_is_killed(floor: Floor) -> None:
    worker = await one_worker(floor, 1)
    worker.hand.data_received(b"\xff\xff\xff\xff nonsense")
    await floor.settle()
    assert not worker.alive


@on_floor
async def test_a_sample_that_was_too_big_is_put_where_it_is_told(floor: Floor) -> None:
    worker = await one_worker(floor, 1)
    worker.say(TooBig(1, 400))
    assert worker.has == [1]
    floor.pool.put_at(PutAt(1, 4096, 400))
    await floor.settle()
    assert worker.wire.said[-1] == PutAt(1, 4096, 400)
    worker.report(1, size_bytes=400)
    assert worker.alive
    assert worker.has == []


@on_floor
async def test_a_sample_for_which_there_is_no_room_is_dropped_there_too(floor: Floor) -> None:
    worker = await one_worker(floor, 1)
    worker.say(TooBig(1, 400))
    floor.pool.drop(1)
    await floor.settle()
    assert worker.wire.said[-1] == PutAt(1, -1, 0)
    assert worker.has == []


# Deaths.


@on_floor
async def test_what_a_worker_worked_on_when_it_died_is_blamed_and_the_rest_is_not(
    floor: Floor,
) -> None:
    worker = await one_worker(floor, 1, 2)
    worker.begin(1)
    worker.die(-11)
    await floor.settle()
    told = {samples: (reason, blamed) for samples, reason, blamed in floor.lost}
    assert told[(2,)] == ("the worker that prepared it died (signal 11)", False)
    reason, blamed = told[(1,)]
    assert blamed
    assert "signal 11" in reason
    assert "reading the row" in reason


@on_floor
async def test_where_nothing_tells_what_it_worked_on_all_it_had_is_blamed(floor: Floor) -> None:
    worker = await one_worker(floor, 1, 2)
    worker.die(3)
    await floor.settle()
    ((samples, reason, blamed),) = floor.lost
    assert sorted(samples) == [1, 2]
    assert blamed
    assert "exit code 3" in reason


@on_floor
async def test_who_goes_with_its_nursery_is_nobodys_victim(floor: Floor) -> None:
    worker = await one_worker(floor, 1, 2)
    worker.begin(1)
    floor.nurseries[worker.ticket].link.connection_lost(None)
    worker.hand.connection_lost(None)
    worker.alive = False
    await floor.later(1.0)
    ((samples, reason, blamed),) = floor.lost
    assert sorted(samples) == [1, 2]
    assert not blamed
    assert "not known how" in reason


@on_floor
async def test_suspects_are_done_alone(floor: Floor) -> None:
    worker = await one_worker(floor, 1, 2, 3, 4)
    worker.begin(1)
    worker.die()
    await floor.settle()
    floor.cook(1, 1)  # it has another try
    for _ in range(20):
        await floor.later(0.5)
        for one in floor.of(worker.ticket):
            if 1 in one.has:
                assert one.has == [1]
                one.report(1)
            elif one.has:
                one.report(one.has[0])
    done = {report.sample for report in floor.reports}
    assert done == {1, 3, 4}
    assert floor.pool.suspects == set()


@on_floor
async def test_what_was_tried_alone_and_went_well_is_no_suspect_any_more(floor: Floor) -> None:
    worker = await one_worker(floor, 1)
    worker.begin(1)
    worker.die()
    await floor.settle()
    assert floor.pool.suspects == {1}
    floor.cook(1, 1, 2)
    await floor.later(1.5)
    (again,) = floor.of(worker.ticket)
    assert again.has == [1]
    again.say(Spoiled(1, "bad row"))
    await floor.settle()
    assert floor.pool.suspects == set()
    assert again.has == [2]


@on_floor
async def test_after_a_worker_that_did_nothing_the_next_is_born_a_moment_later(
    floor: Floor,
) -> None:
    worker = await one_worker(floor, 1)
    worker.die()
    floor.cook(1, 1)
    await floor.later(0.5)
    assert floor.of(worker.ticket) == []
    await floor.later(1.0)
    assert len(floor.of(worker.ticket)) == 1


@on_floor
async def test_own_parts_that_went_with_a_row_are_lost_with_it(floor: Floor) -> None:
    worker = await one_worker(floor, 1, 2)
    floor.pool.finish(Finish(11, 1, 1, -1, b"", 4096, SLOT_BYTES, 0))
    worker.begin(1)
    worker.die()
    await floor.settle()
    told = {sample for samples, _, _ in floor.lost for sample in samples}
    assert told == {1, 2, 11}


# Births that fail.


@on_floor
async def test_a_nursery_that_cannot_fork_is_asked_again_later(floor: Floor) -> None:
    ticket = floor.join(1, workers=1)
    floor.cook(1, 1)
    await floor.turn()
    nursery = floor.nurseries[ticket]
    assert nursery.asked() == [0]
    nursery.refuse("no process can be forked: EAGAIN")
    await floor.turn()
    assert nursery.asked() == []
    await floor.later(1.5)
    assert floor.of(ticket)[0].has == [1]


@on_floor
async def test_a_worker_that_ends_before_it_comes_is_asked_for_again(floor: Floor) -> None:
    ticket = floor.join(1, workers=1)
    floor.cook(1, 1)
    await floor.turn()
    nursery = floor.nurseries[ticket]
    assert nursery.asked() == [0]
    nursery.say(Ended(0, 4321, 1))
    assert not floor.pool.expects(ticket, 0)
    await floor.later(1.5)
    assert floor.of(ticket)[0].has == [1]


@on_floor
async def test_a_worker_that_never_comes_is_not_waited_for_for_ever(floor: Floor) -> None:
    ticket = floor.join(1, workers=1)
    floor.cook(1, 1)
    await floor.turn()
    nursery = floor.nurseries[ticket]
    assert nursery.asked() == [0]
    for _ in range(40):
        floor.clock.now += 1.0
        await floor.turn()
    floor.pool.feed()
    await floor.settle()
    assert floor.of(ticket)[0].has == [1]


# What takes long.


@on_floor
async def test_who_has_reported_nothing_for_a_while_is_asked_for_what_it_has_not_begun(
    floor: Floor,
) -> None:
    ticket = floor.join(1, workers=2)
    floor.cook(1, 1, 2, 3, 4)
    await floor.settle()
    stuck, other = floor.of(ticket)
    waits = stuck.has[1]
    while other.has:
        other.report(*other.has)
    await floor.later(STUCK_S + 0.6)
    assert HandBack in stuck.told
    stuck.hand_back()
    await floor.settle()
    assert waits in other.has
    assert waits not in stuck.has
    assert floor.late == []


@on_floor
async def test_who_does_not_answer_is_late_and_gets_nothing_more(floor: Floor) -> None:
    ticket = floor.join(1, workers=1)
    floor.cook(1, 1, 2, 3, 4)
    await floor.settle()
    (worker,) = floor.of(ticket)
    has = worker.has
    await floor.later(STUCK_S + LATE_S + 1.5)
    assert set(floor.late) == {tuple(has)}  # said again as long as it lasts
    assert worker.has == has
    (other,) = [one for one in floor.of(ticket) if one is not worker]
    assert other.has  # what waits is done by another, born for it
    other.report(*other.has)
    await floor.later(5.0)
    assert set(floor.late) == {tuple(has)}


@on_floor
async def test_who_was_late_and_answers_works_again(floor: Floor) -> None:
    worker = await one_worker(floor, 1, 2)
    await floor.later(STUCK_S + LATE_S + 1.5)
    assert floor.late
    worker.hand_back()
    worker.report(1)
    assert {report.sample for report in floor.reports} == {1}
    floor.cook(1, 5)
    await floor.settle()
    assert 5 in floor.has()
    assert not worker.hand.late


@on_floor
async def test_an_own_part_does_not_go_along_with_what_a_late_worker_has(floor: Floor) -> None:
    worker = await one_worker(floor, 1, 2)
    await floor.later(STUCK_S + LATE_S + 1.5)
    floor.pool.finish(Finish(11, 1, 1, -1, b"", 4096, SLOT_BYTES, 0))
    await floor.settle()
    assert 11 not in worker.has
    worker.report(1)
    await floor.settle()
    assert 11 in floor.has()


@on_floor
async def test_what_takes_longer_than_its_jobs_allow_fails_and_costs_its_worker(
    floor: Floor,
) -> None:
    floor.limit_s = 10.0
    worker = await one_worker(floor, 1, 2)
    worker.begin(1)
    await floor.later(9.0)
    assert floor.reports == []
    await floor.later(3.0)
    assert not worker.alive
    (report,) = floor.reports
    assert isinstance(report, Spoiled)
    assert report.sample == 1
    assert "took more than 10 s, which is the job's timeout" in report.reason
    assert all(not blamed for _, _, blamed in floor.lost)


@on_floor
async def test_how_soon_something_is_given_up_can_be_asked(floor: Floor) -> None:
    floor.limit_s = 10.0
    worker = await one_worker(floor, 1, 2)
    worker.begin(1)
    assert floor.pool.acts_in_s(1) is None
    floor.clock.now += 7.0
    assert floor.pool.acts_in_s(1) == pytest.approx(3.0)
    assert floor.pool.acts_in_s(999) is None


# Ends.


@on_floor
async def test_workers_that_were_idle_for_long_end(floor: Floor) -> None:
    ticket = floor.join(1, workers=2)
    floor.cook(1, 1, 2, 3)
    await floor.settle()
    busy, idle = floor.of(ticket)
    idle.report(*idle.has)
    await floor.later(IDLE_S - 1)
    assert Stop not in idle.told
    await floor.later(2.0)
    assert Stop in idle.told
    assert Stop not in busy.told


@on_floor
async def test_another_is_born_for_what_comes_after_they_have_ended(floor: Floor) -> None:
    worker = await one_worker(floor, 1)
    worker.report(1)
    await floor.later(IDLE_S + 1)
    assert Stop in worker.told
    worker.die(0)
    floor.cook(1, 2)
    await floor.settle()
    assert floor.of(worker.ticket)[0].has == [2]
    assert floor.lost == []


@on_floor
async def test_a_row_that_comes_while_the_last_worker_ends_waits_for_the_next(
    floor: Floor,
) -> None:
    worker = await one_worker(floor, 1)
    worker.report(1)
    await floor.later(IDLE_S + 1)
    floor.cook(1, 2)  # it was told to end, and has not yet
    await floor.settle()
    assert worker.has == []
    assert 2 in floor.has()


@on_floor
async def test_a_worker_that_cannot_be_reached_is_killed_by_its_nursery(floor: Floor) -> None:
    worker = await one_worker(floor, 1)
    worker.hand.kill()
    await floor.turn()
    assert Slay(0) in floor.nurseries[worker.ticket].wire.said


@on_floor
async def test_another_nursery_takes_the_place_of_one_that_was_killed(floor: Floor) -> None:
    worker = await one_worker(floor, 1, 2)
    old = floor.nurseries[worker.ticket]
    old.link.connection_lost(None)
    worker.hand.connection_lost(None)
    worker.alive = False
    await floor.later(1.0)
    new = floor.nurseries[worker.ticket] = Nursery(floor, worker.ticket)
    floor.cook(1, 1, 2)
    await floor.later(1.5)
    assert Bear(0) in new.wire.said
    assert floor.of(worker.ticket)[0].has == [1, 2]


@on_floor
async def test_where_a_sample_is_can_be_said_in_words(floor: Floor) -> None:
    worker = await one_worker(floor, 1, 2, 3, 4)
    worker.begin(1)
    floor.clock.now += 2.0
    told = [floor.pool.whereabouts(sample) for sample in (1, 2, 4, 99)]
    assert told[0] == (
        f"has been with worker process {worker.pid} for 2.0 s, which is at: reading the row"
    )
    assert "behind row 1" in told[1]
    assert "waits behind 1 others" in told[2]
    assert told[3] == "is in no worker's hands"
