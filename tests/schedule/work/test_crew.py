"""One crew: what each worker has in hand, whose fault a death is, what is late or idle."""

import pytest

from joader.errors import BadMessage
from joader.messages import Drop, Failed, HandBack, Place, Prepared, Sized, Stop
from joader.schedule.limits.pace import MOST_CHUNK
from joader.schedule.work.blame import LATE_S, STUCK_S
from joader.schedule.work.watch import IDLE_S
from tests.schedule.floor import LAYOUT, SLOT_BYTES, Floor, Nursery, one_worker

# Handing out.


def test_a_worker_has_a_slow_row_in_hand_and_one_to_go_on_with(floor: Floor) -> None:
    worker = one_worker(floor, *range(10))
    assert worker.has == [0, 1]
    worker.report(0)
    floor.settle()
    assert worker.has == [1, 2]


def test_a_worker_with_quick_rows_gets_them_in_large_parts(floor: Floor) -> None:
    worker = one_worker(floor, *range(4000))
    most = 0
    while worker.has:
        worker.report(*worker.has, row_s=1e-5)
        floor.settle()
        most = max(most, len(worker.has))
        assert len(worker.has) <= 2 * MOST_CHUNK
    assert most > 64
    assert len(floor.prepared) == 4000


def test_rows_are_handed_out_to_those_with_the_least_in_hand(floor: Floor) -> None:
    ticket = floor.join(1, workers=3)
    floor.prepare(1, *range(6))
    floor.settle()
    assert [len(worker.has) for worker in floor.of(ticket)] == [2, 2, 2]
    first, second, third = floor.of(ticket)
    first.report(*first.has)
    second.report(second.has[0])
    floor.prepare(1, 10, 11)
    floor.settle()
    assert 10 in first.has
    assert 11 in second.has or 11 in first.has
    assert len(third.has) == 2


def test_what_waits_for_a_slot_is_not_work_to_go_on_with(floor: Floor) -> None:
    ticket = floor.join(1, workers=1)
    floor.prepare(1, *range(100))
    floor.settle()
    (worker,) = floor.of(ticket)
    while floor.dispatch.staff.crews[ticket].queue.shared.pace.chunk < 4:
        worker.report(worker.has[0], row_s=0.01)
    has = worker.has
    worker.say(Sized(tuple(has), (SLOT_BYTES,) * len(has)))
    new = [sample for sample in worker.has if sample not in has]
    assert new
    # … and neither are own parts of what waits.
    for number, sample in enumerate(new):
        floor.finish(1000 + number, sample)
    worker.say(Sized(tuple(new), (SLOT_BYTES,) * len(new)))
    assert worker.state.held_up[1] == len(new)


def test_a_worker_with_own_parts_gets_more_when_it_has_reported_half_of_a_chunk(
    floor: Floor,
) -> None:
    """It reports no sooner, and when it does the next time, nothing would be left to go on with."""
    worker = one_worker(floor, *range(1000))
    claims = worker.state.crew.queue
    for _ in range(60):
        claims.own_pace.note(0.0003, 1)
    for _ in range(200):
        worker.report(worker.has[0], row_s=0.002)
    for number, sample in enumerate(worker.has[:20]):
        floor.finish(2000 + number, sample)
    rows, chunk = [sample for sample in worker.has if sample < 2000], claims.shared.pace.chunk
    assert len(rows) > chunk // 2 > 5
    for sample in rows[chunk // 2 :]:
        worker.state.drop(sample)
    assert len(worker.has) == chunk // 2 + worker.state.own > chunk
    assert worker.state.runs_low


def test_a_worker_does_not_pile_up_what_has_no_slot(floor: Floor) -> None:
    """About a chunk of it is passed over: its bytes are in nobody's budget."""
    worker = one_worker(floor, *range(1000))
    for _ in range(30):
        worker.report(worker.has[0], row_s=0.004)
    chunk = worker.state.crew.queue.shared.pace.chunk
    for _ in range(50):
        waits = worker.state.unplaced
        sized = tuple([sample for sample in worker.has if sample not in waits][:1])
        worker.say(Sized(sized, (SLOT_BYTES,) * len(sized)))
    assert chunk < len(worker.has) <= 3 * chunk


def test_a_report_of_what_nobody_waits_for_is_passed_over(floor: Floor) -> None:
    worker = one_worker(floor, 1)
    worker.report(77)
    worker.say(Prepared((77, 78), (SLOT_BYTES,), (LAYOUT,)))
    worker.report(1)
    worker.report(1)
    assert floor.prepared == [1]
    assert worker.alive


def test_of_several_reported_together_those_it_has_are_passed_on_once(floor: Floor) -> None:
    worker = one_worker(floor, 1, 2)
    worker.say(Prepared((2, 77, 2, 1), (SLOT_BYTES,), (LAYOUT,)))
    (report,) = floor.reports
    assert report.samples == (2, 1)
    assert worker.has == []


@pytest.mark.parametrize("size_bytes", [0, SLOT_BYTES + 1])
def test_a_worker_that_says_it_wrote_beyond_its_slot_cannot_be_believed(
    floor: Floor, size_bytes: int
) -> None:
    worker = one_worker(floor, 1)
    with pytest.raises(BadMessage):
        worker.report(1, size_bytes=size_bytes)
    assert floor.reports == []
    assert worker.has == [1]


def test_a_sample_that_was_too_big_is_put_where_it_is_told(floor: Floor) -> None:
    worker = one_worker(floor, 1)
    worker.say(Sized((1,), (400,)))
    assert worker.has == [1]
    place = Place((1,), (4096,), (400,))
    floor.dispatch.place(place)
    floor.act()
    assert worker.said[-1] == place
    worker.report(1, size_bytes=400)
    assert worker.has == []


@pytest.mark.parametrize("lie", [Sized((1,), (1 << 60,)), Failed(1, "a lie")])
def test_of_what_was_sized_nothing_is_believed_before_it_has_a_place(
    floor: Floor, lie: Sized | Failed
) -> None:
    worker = one_worker(floor, 1)
    with pytest.raises(BadMessage, match="waiting for a slot"):
        worker.say(Sized((1,), (400,)), lie)
    floor.act()
    assert [type(report) for report in floor.reports] == [Sized]


def test_a_sample_for_which_there_is_no_room_is_dropped_there_too(floor: Floor) -> None:
    worker = one_worker(floor, 1)
    worker.say(Sized((1,), (400,)))
    floor.dispatch.drop([1])
    floor.act()
    assert worker.said[-1] == Drop((1,))
    assert worker.has == []


# Deaths.


def test_what_a_worker_worked_on_when_it_died_is_blamed_and_the_rest_is_not(
    floor: Floor,
) -> None:
    worker = one_worker(floor, 1, 2)
    worker.begin(1)
    worker.die(-11)
    floor.settle()
    told = {event.samples: (event.reason, event.blamed) for event in floor.lost}
    assert told[(2,)] == ("the worker that prepared it died (signal 11)", False)
    reason, blamed = told[(1,)]
    assert blamed
    assert "signal 11" in reason
    assert "reading the row" in reason


def test_where_nothing_tells_what_it_worked_on_all_it_had_is_blamed(floor: Floor) -> None:
    worker = one_worker(floor, 1, 2)
    worker.die(3)
    floor.settle()
    (event,) = floor.lost
    assert sorted(event.samples) == [1, 2]
    assert event.blamed
    assert "exit code 3" in event.reason


def test_who_goes_with_its_nursery_is_nobodys_victim(floor: Floor) -> None:
    worker = one_worker(floor, 1, 2)
    worker.begin(1)
    floor.nurseries[worker.ticket].go()
    worker.die(None)
    (event,) = floor.lost
    assert sorted(event.samples) == [1, 2]
    assert not event.blamed
    assert "not known how" in event.reason


def test_suspects_are_done_alone(floor: Floor) -> None:
    worker = one_worker(floor, 1, 2, 3, 4)
    worker.begin(1)
    worker.die()
    floor.settle()
    floor.prepare(1, 1)  # it has another try
    for _ in range(20):
        floor.later(0.5)
        for one in floor.of(worker.ticket):
            if 1 in one.has:
                assert one.has == [1]
                one.report(1)
            elif one.has:
                one.report(one.has[0])
    assert set(floor.prepared) == {1, 3, 4}
    assert floor.dispatch.staff.suspects == set()


def test_what_was_tried_alone_and_went_well_is_no_suspect_any_more(floor: Floor) -> None:
    worker = one_worker(floor, 1)
    worker.begin(1)
    worker.die()
    floor.settle()
    assert floor.dispatch.staff.suspects == {1}
    floor.prepare(1, 1, 2)
    floor.later(1.5)
    (again,) = floor.of(worker.ticket)
    assert again.has == [1]
    again.say(Failed(1, "bad row"))
    floor.settle()
    assert floor.dispatch.staff.suspects == set()
    assert again.has == [2]


def test_after_a_worker_that_did_nothing_the_next_is_born_a_moment_later(
    floor: Floor,
) -> None:
    worker = one_worker(floor, 1)
    worker.die()
    floor.prepare(1, 1)
    floor.later(0.5)
    assert floor.of(worker.ticket) == []
    floor.later(1.0)
    assert len(floor.of(worker.ticket)) == 1


def test_own_parts_that_went_with_a_row_are_lost_with_it(floor: Floor) -> None:
    worker = one_worker(floor, 1, 2)
    floor.finish(11, 1)
    worker.begin(1)
    worker.die()
    floor.settle()
    told = {sample for event in floor.lost for sample in event.samples}
    assert told == {1, 2, 11}


# Births that fail.


def test_a_nursery_that_cannot_fork_is_asked_again_later(floor: Floor) -> None:
    ticket = floor.join(1, workers=1)
    floor.prepare(1, 1)
    nursery = floor.nurseries[ticket]
    assert nursery.asked() == [0]
    nursery.refuse("no process can be forked: EAGAIN")
    assert nursery.asked() == []
    floor.later(1.5)
    assert floor.of(ticket)[0].has == [1]


def test_a_worker_that_ends_before_it_comes_is_asked_for_again(floor: Floor) -> None:
    ticket = floor.join(1, workers=1)
    floor.prepare(1, 1)
    nursery = floor.nurseries[ticket]
    assert nursery.asked() == [0]
    floor.dispatch.stillborn(ticket, 0, 4321, floor.now)
    assert not floor.dispatch.expects(ticket, 0)
    floor.later(1.5)
    assert floor.of(ticket)[0].has == [1]


def test_a_worker_that_never_comes_is_not_waited_for_for_ever(floor: Floor) -> None:
    ticket = floor.join(1, workers=1)
    floor.prepare(1, 1)
    nursery = floor.nurseries[ticket]
    assert nursery.asked() == [0]
    for _ in range(40):
        floor.now += 1.0
        floor.look()
    floor.settle()
    assert floor.of(ticket)[0].has == [1]


# What takes long.


def test_who_has_reported_nothing_for_a_while_is_asked_for_what_it_has_not_begun(
    floor: Floor,
) -> None:
    ticket = floor.join(1, workers=2)
    floor.prepare(1, 1, 2, 3, 4)
    floor.settle()
    stuck, other = floor.of(ticket)
    waits = stuck.has[1]
    while other.has:
        other.report(*other.has)
    floor.later(STUCK_S + 0.6)
    assert HandBack in stuck.told
    stuck.hand_back()
    floor.settle()
    assert waits in other.has
    assert waits not in stuck.has
    assert floor.late == []


def test_who_does_not_answer_is_late_and_gets_nothing_more(floor: Floor) -> None:
    ticket = floor.join(1, workers=1)
    floor.prepare(1, 1, 2, 3, 4)
    floor.settle()
    (worker,) = floor.of(ticket)
    has = worker.has
    floor.later(STUCK_S + LATE_S + 1.5)
    assert set(floor.late) == {tuple(has)}  # said again as long as it lasts
    assert worker.has == has
    (other,) = [one for one in floor.of(ticket) if one is not worker]
    assert other.has  # what waits is done by another, born for it
    other.report(*other.has)
    floor.later(5.0)
    assert set(floor.late) == {tuple(has)}


def test_who_was_late_and_answers_works_again(floor: Floor) -> None:
    worker = one_worker(floor, 1, 2)
    floor.later(STUCK_S + LATE_S + 1.5)
    assert floor.late
    worker.hand_back()
    worker.report(1)
    assert set(floor.prepared) == {1}
    floor.prepare(1, 5)
    floor.settle()
    assert 5 in floor.has()
    assert not worker.state.late


def test_who_is_late_with_nothing_in_hand_keeps_nobody_from_being_born(floor: Floor) -> None:
    worker = one_worker(floor, 1)
    floor.later(STUCK_S + LATE_S + 1.5)
    assert worker.state.late
    floor.dispatch.drop([1])
    floor.finish(11, 1, LAYOUT)  # nobody else has the code for it
    floor.later(1.0)
    assert 11 in floor.has()


def test_an_own_part_does_not_go_along_with_what_a_late_worker_has(floor: Floor) -> None:
    worker = one_worker(floor, 1, 2)
    floor.later(STUCK_S + LATE_S + 1.5)
    floor.finish(11, 1)
    floor.settle()
    assert 11 not in worker.has
    worker.report(1)
    floor.settle()
    assert 11 in floor.has()


def test_what_takes_longer_than_its_jobs_allow_fails_and_costs_its_worker(
    floor: Floor,
) -> None:
    floor.limit_s = 10.0
    worker = one_worker(floor, 1, 2)
    worker.begin(1)
    floor.later(9.0)
    assert floor.reports == []
    floor.later(3.0)
    assert not worker.alive
    (report,) = floor.reports
    assert isinstance(report, Failed)
    assert report.sample == 1
    assert report.reason.endswith("trace")
    assert "took more than 10 s, which is the job's timeout" in report.reason
    assert all(not event.blamed for event in floor.lost)


def test_how_soon_something_is_given_up_can_be_asked(floor: Floor) -> None:
    floor.limit_s = 10.0
    worker = one_worker(floor, 1, 2)
    worker.begin(1)
    assert floor.acts_in_s(1) is None
    floor.now += 7.0
    assert floor.acts_in_s(1) == pytest.approx(3.0)
    assert floor.acts_in_s(999) is None


# Ends.


def test_workers_that_were_idle_for_long_end(floor: Floor) -> None:
    ticket = floor.join(1, workers=2)
    floor.prepare(1, 1, 2, 3)
    floor.settle()
    busy, idle = floor.of(ticket)
    idle.report(*idle.has)
    floor.later(IDLE_S - 1)
    assert Stop not in idle.told
    floor.later(2.0)
    assert Stop in idle.told
    assert Stop not in busy.told


def test_another_is_born_for_what_comes_after_they_have_ended(floor: Floor) -> None:
    worker = one_worker(floor, 1)
    worker.report(1)
    floor.later(IDLE_S + 1)
    assert Stop in worker.told
    worker.die(0)
    floor.prepare(1, 2)
    floor.settle()
    assert floor.of(worker.ticket)[0].has == [2]
    assert floor.lost == []


def test_a_row_that_comes_while_the_last_worker_ends_waits_for_the_next(
    floor: Floor,
) -> None:
    worker = one_worker(floor, 1)
    worker.report(1)
    floor.later(IDLE_S + 1)
    floor.prepare(1, 2)  # it was told to end, and has not yet
    floor.settle()
    assert worker.has == []
    assert 2 in floor.has()


def test_another_nursery_takes_the_place_of_one_that_was_killed(floor: Floor) -> None:
    worker = one_worker(floor, 1, 2)
    floor.nurseries[worker.ticket].go()
    worker.die(None)
    new = floor.nurseries[worker.ticket] = Nursery(floor, worker.ticket)
    floor.prepare(1, 1, 2)
    floor.later(1.5)
    assert new.numbers == [0]
    assert floor.of(worker.ticket)[0].has == [1, 2]


def test_where_a_sample_is_can_be_said_in_words(floor: Floor) -> None:
    worker = one_worker(floor, 1, 2, 3, 4)
    worker.begin(1)
    floor.now += 2.0
    told = [floor.whereabouts(sample) for sample in (1, 2, 4, 99)]
    assert told[0] == (
        f"has been with worker process {worker.pid} for 2.0 s, which is at: reading the row"
    )
    assert "behind row 1" in told[1]
    assert "waits behind 1 others" in told[2]
    assert told[3] == "is in no worker's hands"


def test_a_worker_that_grows_without_end_is_replaced(floor: Floor) -> None:
    worker = one_worker(floor, 1, 2)
    worker.report(1)
    floor.later(1.0)
    assert Stop not in worker.told
    worker.bytes += 2 << 30
    floor.look()
    assert any("has grown by 2048 MiB" in text for text in floor.warnings)
    worker.report(*worker.has)  # what it has in hand it does first
    assert Stop in worker.told


def test_who_is_to_leave_and_does_not_answer_is_late_as_any_other(floor: Floor) -> None:
    worker = one_worker(floor, 7)
    floor.dispatch.renew(1)
    floor.later(STUCK_S + LATE_S + 1.5)
    assert worker.state.leaving
    assert set(floor.late) == {(7,)}
