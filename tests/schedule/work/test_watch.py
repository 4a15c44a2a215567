"""What becomes of workers as time passes."""

from joader.messages import HandBack
from joader.schedule.work.blame import Pulse
from joader.schedule.work.watch import IDLE_S
from tests.schedule.floor import Floor, one_worker


def test_a_row_that_takes_longer_than_the_job_waits_ends_with_its_worker() -> None:
    floor = Floor(cores=1)
    worker = one_worker(floor, 5)
    worker.begin(5)
    floor.later(floor.limit_s - 1)
    assert worker.alive
    floor.later(3)
    assert not worker.alive
    assert any("took too long" in text for text in floor.warnings)


def test_one_look_is_not_enough_to_abandon_a_row() -> None:
    floor = Floor(cores=1)
    worker = one_worker(floor, 5)
    worker.begin(5)
    floor.now += 10 * floor.limit_s  # the machine slept
    floor.look()
    assert worker.alive
    floor.look()
    assert not worker.alive


def test_a_worker_without_a_report_is_asked_for_what_it_has_not_begun_and_then_is_late() -> None:
    floor = Floor(cores=1)
    worker = one_worker(floor, 5)
    worker.begin(5)
    floor.later(1.5)
    assert worker.told == [HandBack]
    assert floor.late == []
    floor.later(1.5)
    assert (5,) in floor.late
    assert any("does not answer" in text for text in floor.warnings)


def test_a_worker_with_nothing_to_do_ends_after_a_while() -> None:
    floor = Floor(cores=1)
    worker = one_worker(floor, 5)
    worker.report(5)
    floor.later(IDLE_S - 1)
    assert floor.told_to_stop() == []
    floor.later(2)
    assert floor.told_to_stop() == [worker]


def test_a_worker_that_grows_is_replaced_and_one_that_began_large_is_not() -> None:
    floor = Floor(cores=1)
    worker = one_worker(floor, 5)
    worker.report(5)
    worker.bytes = 8 << 30
    floor.look()
    assert floor.told_to_stop() == []
    worker.bytes += (1 << 30) + 1
    floor.look()
    assert floor.told_to_stop() == [worker]
    assert any("has grown by 1024 MiB" in text for text in floor.warnings)


def test_who_gets_no_processor_is_not_late_however_long_it_takes() -> None:
    floor = Floor(cores=1)
    worker = one_worker(floor, 5)
    worker.begin(5)
    worker.pulse = Pulse(1.0, runnable=True)
    floor.later(40)
    assert floor.late == []
    assert floor.warnings == []
    worker.pulse = Pulse(1.5, runnable=True)  # it had its chance, and has not answered
    floor.later(1.5)
    assert (5,) in floor.late


def test_who_is_stopped_wants_no_processor_and_is_late() -> None:
    floor = Floor(cores=1)
    worker = one_worker(floor, 5)
    worker.begin(5)
    worker.pulse = Pulse(1.0, runnable=False)
    floor.later(3.5)
    assert (5,) in floor.late


def test_one_look_is_not_enough_to_call_a_worker_late() -> None:
    floor = Floor(cores=1)
    worker = one_worker(floor, 5)
    floor.now += 1.5
    floor.look()
    assert worker.told == [HandBack]
    floor.now += 60.0  # the machine slept
    floor.look()
    assert floor.late == []
    floor.look()
    assert floor.late == [(5,)]
