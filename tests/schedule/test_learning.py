"""What one job teaches of its recipe is what the next one starts with."""

import pytest

from joader.schedule.experience import Experience, Habit, Known, Pace
from tests.schedule.floor import Floor


def worked(floor: Floor, job: int, row_s: float, rows: int = 30) -> None:
    """Let a job's only worker prepare rows that take so long."""
    floor.join(job, workers=1)
    for sample in range(1000 * job, 1000 * job + rows):
        floor.prepare(job, sample)
        floor.settle()
        (worker,) = floor.of(f"ticket {job}")
        worker.report(sample, row_s=row_s)


def known(floor: Floor) -> Known | None:
    return floor.dispatch.learning.experience.of("code")


def test_the_pace_of_a_recipe_is_learned_when_its_job_leaves() -> None:
    floor = Floor()
    worked(floor, 1, row_s=0.02)
    assert known(floor) is None
    floor.leave(1)
    found = known(floor)
    assert found is not None
    assert found.rows.row_s == pytest.approx(0.02, rel=0.05)


def test_a_daemon_that_ends_learns_from_who_is_still_here() -> None:
    floor = Floor()
    worked(floor, 1, row_s=0.02)
    floor.dispatch.learning.learn()
    assert known(floor) is not None


def test_a_new_crew_starts_with_what_is_known_until_it_has_measured() -> None:
    floor = Floor()
    pace = Pace(0.05, 0.04, 0.04)
    floor.dispatch.learning.experience = Experience({"code": Known(pace)})
    floor.join(1, workers=1)
    (crew,) = floor.dispatch.staff.crews.values()
    assert crew.queue.shared.pace.row_s == 0.05
    worked(Floor(), 1, row_s=0.01)  # elsewhere, it changes nothing here
    assert crew.queue.shared.pace.row_s == 0.05
    for sample in range(40):
        floor.prepare(1, sample)
        floor.settle()
        floor.of("ticket 1")[0].report(sample, row_s=0.01)
    assert crew.queue.shared.pace.row_s == pytest.approx(0.01, rel=0.1)


def test_a_new_job_reads_as_one_of_its_name_did_before() -> None:
    floor = Floor()
    habits = {"train.py": Habit(0.5, 8.0), "other.py": Habit(0.1, 2.0)}
    known = Known(Pace(0.05, 0.04, 0.04), {}, habits)
    floor.dispatch.learning.experience = Experience({"code": known})
    floor.come(1, "ticket 1", name="train.py")
    floor.come(2, "ticket 2", name="new.py")
    floor.come(3, "ticket 3", code="another", name="train.py")
    demands = floor.dispatch.allocation.demands
    assert demands[1].recalled
    assert demands[2].recalled
    assert demands[1].step_s > demands[2].step_s > 0
    assert not demands[3].recalled


def test_what_nobody_has_worked_on_teaches_nothing() -> None:
    floor = Floor()
    floor.join(1, workers=1)
    floor.leave(1)
    assert known(floor) is None
