"""Workers that do not answer: what they have is done by others, and their slots are theirs."""

import numpy as np

from joader.messages import Join, Late, Prepare
from joader.schedule.work.orders import Row, rows_of
from tests.engine.world import World


def world(slots: int = 400) -> World:
    return World(slots * 128, lambda row: 100)


def join(job: int, rows: int = 20, **more: object) -> Join:
    return Join(job, "photos", np.arange(rows), rows, 4, **more)  # type: ignore[arg-type]


def started(on: World, **more: object) -> list[int]:
    """Let a job begin, of whose samples the first has told the size; return two with slots."""
    on.join(join(1, order="given", **more))
    on.begin(1)
    on.want(1, 4)
    for _ in range(2):  # sized, and placed
        on.finish(next(iter(on.to_do)))
    return [sample for sample, order in on.to_do.items() if order.offset >= 0][:2]


def run(on: World, job: int) -> None:
    while on.left[job]:
        before = len(on.got[job])
        on.want(job, 4)
        on.settle()
        assert len(on.got[job]) > before, "it waits for a worker that does not answer"


def test_who_waits_gets_another_preparation_in_another_slot() -> None:
    on = world()
    late = started(on, fresh=True)
    known = {sample: on.to_do[sample] for sample in late}
    said = on.tell(Late(tuple(late)))
    again = [row for i in said if isinstance(i, Prepare) for row in rows_of(i)]
    assert len(again) == 2
    for one, before in zip(again, known.values(), strict=True):
        assert isinstance(before, Row)
        assert one.sample not in known
        assert one.offset not in {other.offset for other in known.values()}
        assert (one.row, one.job) == (before.row, before.job)
        assert (one.key, one.position) == (before.key, before.position)
        assert one.times != before.times  # the first may still come, and go to who gets this, too


def test_a_job_reads_its_whole_pass_beside_a_worker_that_never_answers() -> None:
    on = world()
    late = started(on)
    on.late(late)
    run(on, 1)
    assert sorted(on.got[1]) == list(range(20))
    assert set(late) <= set(on.to_do)
    assert on.engine.pinned_bytes == len(late) * 128  # their slots, and nothing else


def test_so_it_does_in_the_next_pass() -> None:
    on = world()
    on.late(started(on))
    run(on, 1)
    on.begin(1, epoch=1)
    run(on, 1)


def test_so_does_a_job_that_comes_later() -> None:
    on = world()
    on.late(started(on))
    run(on, 1)
    on.join(join(2))
    on.begin(2)
    run(on, 2)


def test_what_the_late_worker_brings_in_the_end_serves_who_asks_next() -> None:
    on = world()
    late = started(on)
    on.late(late)
    run(on, 1)
    on.wake()
    on.work()
    before = on.prepared
    on.join(join(2))
    on.begin(2)
    run(on, 2)
    assert on.prepared == before


def test_a_late_worker_that_dies_costs_nobody_anything() -> None:
    on = world()
    late = started(on)
    on.late(late)
    run(on, 1)
    on.lose(late)
    assert on.to_do == {}
    assert on.engine.pinned_bytes == 0
    on.begin(1, epoch=1)
    run(on, 1)
    assert on.failed[1] == []


def test_a_late_worker_that_answers_after_all_have_left_leaves_nothing_in_use() -> None:
    on = world()
    late = started(on)
    on.late(late)
    run(on, 1)
    on.leave(1)
    on.wake()
    on.settle()
    assert on.engine.pinned_bytes == 0


def test_nobody_gets_what_the_late_worker_made_and_what_was_made_in_its_place() -> None:
    on = world()
    on.starts_differ = True
    on.late(started(on, fresh=True, reads_for="one"))
    run(on, 1)
    on.wake()
    on.settle()
    on.join(join(2, fresh=True, reads_for="other"))
    for epoch in range(2):
        on.begin(2, epoch)
        run(on, 2)


def test_samples_that_nobody_waits_for_are_not_done_again() -> None:
    on = world()
    late = started(on)
    on.leave(1)
    assert on.tell(Late(tuple(late))) == []


def test_samples_that_are_unknown_or_done_are_passed_over() -> None:
    on = world()
    late = started(on)
    on.finish(late[0])
    assert not [i for i in on.tell(Late((late[0], 999))) if isinstance(i, Prepare)]


def test_without_room_for_a_second_slot_who_waits_waits_on() -> None:
    on = World(8 * 128, lambda row: 100)
    late = started(on)
    on.late(late)
    on.settle()
    on.wake()
    run(on, 1)
    assert sorted(on.got[1]) == list(range(20))
