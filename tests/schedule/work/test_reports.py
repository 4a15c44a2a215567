"""What workers report, and what follows from it for others."""

import pytest

from joader.errors import BadMessage
from joader.messages import Failed, NotBegun, Place, Prepared, Sized
from tests.schedule.floor import LAYOUT, SLOT_BYTES, Floor, one_worker


def test_only_what_a_worker_has_is_told_once() -> None:
    floor = Floor(cores=1)
    worker = one_worker(floor, 5)
    worker.say(Prepared((5, 5, 9), (SLOT_BYTES,), (LAYOUT,)))
    worker.say(Prepared((5,), (SLOT_BYTES,), (LAYOUT,)))
    assert floor.prepared == [5]
    assert worker.has == []


@pytest.mark.parametrize("size_bytes", [0, SLOT_BYTES + 1])
def test_more_bytes_than_the_slot_has_or_none_are_refused(size_bytes: int) -> None:
    floor = Floor(cores=1)
    worker = one_worker(floor, 5)
    with pytest.raises(BadMessage, match=f"{size_bytes} bytes in the slot of sample 5"):
        worker.report(5, size_bytes=size_bytes)
    assert worker.has == [5]


def test_a_sample_that_was_sized_waits_for_its_slot_and_cannot_be_reported_before() -> None:
    floor = Floor(cores=1)
    worker = one_worker(floor, 5)
    worker.say(Sized((5,), (1000,)))
    assert floor.reports == [Sized((5,), (1000,))]
    with pytest.raises(BadMessage, match="waiting for a slot"):
        worker.say(Sized((5,), (1000,)))
    with pytest.raises(BadMessage):
        worker.report(5)


def test_a_worker_whose_only_sample_waits_for_a_slot_is_at_work_again_once_it_has_one() -> None:
    floor = Floor(cores=1)
    worker = one_worker(floor, 5)
    crew = worker.state.crew
    worker.say(Sized((5,), (1000,)))
    assert crew.at_work == set()
    floor.dispatch.place(Place((5,), (0,), (1000,)))
    assert crew.at_work == {worker.state}


def test_sizes_must_be_of_the_samples_that_are_named() -> None:
    floor = Floor(cores=1)
    worker = one_worker(floor, 5)
    with pytest.raises(BadMessage, match="other samples than are named"):
        worker.say(Sized((5,), (1000, 2000)))


def test_an_own_part_is_done_once_its_source_is_ready_and_never_if_that_fails() -> None:
    floor = Floor(cores=2)
    floor.join(1, "code", workers=1)
    floor.join(2, "code", workers=1)
    floor.prepare(2, 5, 6)
    floor.settle()
    floor.finish(50, source=5, job=1)
    floor.finish(60, source=6, job=1)
    for worker in list(floor.workers):
        for sample in [one for one in worker.has if one in (5, 6)]:
            worker.say(Failed(sample, "no") if sample == 6 else Prepared((5,), (128,), (LAYOUT,)))
    floor.settle()
    assert 50 in floor.has()
    assert 60 not in floor.has()
    assert floor.whereabouts(60) == "is in no worker's hands"


def test_what_is_handed_back_waits_before_all_else() -> None:
    floor = Floor(cores=1)
    worker = one_worker(floor, *range(5, 12))
    assert worker.has == [5, 6]
    worker.hand_back()
    waiting = [order.sample for order in worker.state.crew.queue]
    assert worker.has + waiting == list(range(5, 12))


def test_an_own_part_that_comes_back_after_its_source_was_reported_is_told_anew() -> None:
    floor = Floor(cores=1)
    worker = one_worker(floor, 5, 6)
    floor.finish(50, source=5)
    worker.report(5)
    worker.say(NotBegun((50,)))
    assert [event.samples for event in floor.lost] == [(50,)]
    assert not floor.lost[0].blamed
    assert floor.warnings == []


def test_time_that_cannot_be_is_not_believed() -> None:
    floor = Floor(cores=1)
    worker = one_worker(floor, *range(20))
    worker.report(worker.has[0])
    for seconds in (float("nan"), float("inf"), -1.0, 1e300):
        worker.say(Prepared((worker.has[0],), (SLOT_BYTES,), (LAYOUT,), seconds))
    pace = worker.state.crew.queue.shared.pace
    assert pace.chunk == 1
    assert worker.state.crew.queue.shared.account.spent_s < 60


def test_heavy_own_parts_wait_for_their_turn_and_light_ones_go_along() -> None:
    for row_s, along in ((0.05, False), (0.0005, True)):
        floor = Floor(cores=1)
        worker = one_worker(floor, *range(8))
        floor.finish(90, source=worker.has[0])
        worker.report(worker.has[0])
        worker.say(Prepared((90,), (SLOT_BYTES,), (LAYOUT,), row_s))
        floor.finish(91, source=7)
        while 7 not in worker.has:
            worker.report(worker.has[0])
        assert (91 in worker.has) is along
        worker.report(*[sample for sample in worker.has if sample != 91])
        assert 91 in worker.has  # now its source is there


def test_the_time_of_a_row_that_went_whole_is_told_apart_from_its_own_part() -> None:
    floor = Floor(cores=1)
    worker = one_worker(floor, 5)
    worker.report(5, row_s=0.001)  # its first rows say nothing of others
    claims = worker.state.crew.queue
    for sample in range(10, 14):
        floor.prepare(1, sample, whole=True)
        told = Prepared((sample,), (SLOT_BYTES,), (LAYOUT,), 0.012, 0.008, 0.004, own_s=0.002)
        worker.say(told)
    # Of 12 ms it waited for 4; of the others own parts took a quarter.
    assert claims.shared.pace.parts_s == pytest.approx((0.006, 0.004, 0.0))
    assert claims.own_pace.parts_s == pytest.approx((0.002, 0.0, 0.0))
    assert claims.own_of(1).account.used_s == pytest.approx(4 * 0.002)


def test_more_time_for_own_parts_than_there_was_is_not_believed() -> None:
    floor = Floor(cores=1)
    worker = one_worker(floor, 5)
    worker.report(5, row_s=0.001)
    claims = worker.state.crew.queue
    for own_s in (7.0, float("nan"), -1.0):
        floor.prepare(1, 20, whole=True)
        worker.say(Prepared((20,), (SLOT_BYTES,), (LAYOUT,), 0.01, own_s=own_s))
        assert 0.0 <= claims.own_pace.row_s <= 0.01
        assert 0.0 <= claims.shared.pace.row_s <= 0.01
