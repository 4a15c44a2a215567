"""What is known of recipes from before."""

import math

import pytest

from joader.schedule.experience import MOST_JOBS, MOST_RECIPES, Experience, Habit, Known, Pace
from joader.schedule.limits.knee import Knee
from joader.schedule.limits.pace import RowPace
from joader.schedule.shares.demand import Demand
from joader.simulator.machine.play import play
from joader.simulator.machine.workload import JobSpec, MachineSpec, Workload

PACE = Pace(0.01, 0.008, 0.009)


def test_the_latest_recipes_and_jobs_are_kept() -> None:
    experience = Experience()
    for n in range(MOST_RECIPES + 5):
        experience.learn(f"{n}", PACE, {}, {})
    assert experience.of("4") is None
    assert experience.of("5") is not None
    for n in range(MOST_JOBS + 3):
        experience.learn("9", None, {}, {f"job {n}": Habit(0.1, n + 1.0)})
    known = experience.of("9")
    assert known is not None
    assert known.rows == PACE
    assert len(known.habits) == MOST_JOBS
    assert known.habit("job 7") == Habit(0.1, 8.0)
    assert known.habit("another") == Habit(0.1, MOST_JOBS + 3.0)  # the latest
    assert experience.changed >= {"9", "5"}


def test_what_cannot_be_is_not_learned() -> None:
    experience = Experience()
    for odd in (Pace(0.0, 0.0, 0.0), Pace(math.nan, 1.0, 1.0), Pace(1.0, 2.0, 1.0), None):
        experience.learn("a", odd, {}, {})
    assert not experience.all()
    assert Known(PACE).habit("a") is None


def test_a_recalled_pace_is_replaced_by_what_is_measured() -> None:
    pace = RowPace()
    pace.recall(PACE)
    assert (pace.row_s, pace.computing_s, pace.chunk) == (0.01, pytest.approx(0.008), 4)
    assert pace.learned is None
    for _ in range(30):
        pace.note(0.1, 1)
    assert pace.row_s == pytest.approx(0.1, rel=0.05)
    pace.recall(PACE)  # too late
    assert pace.learned is not None
    assert pace.row_s == pytest.approx(0.1, rel=0.05)


def test_recalled_contention_counts_but_is_not_handed_on() -> None:
    knee = Knee()
    knee.recall("a", {1: 0.01, 2: 0.03, 0: 1.0, 4: math.nan})
    assert knee.knee(2) == 1
    assert knee.measured("a") == {}
    for _ in range(20):
        knee.note("a", 1, 10, 0.1)
    assert knee.measured("a") == {1: pytest.approx(0.01)}


def test_long_first_steps_do_not_disturb_what_was_recalled() -> None:
    demand = Demand()
    demand.recall(Habit(0.1, 8.0))
    assert demand.recalled
    assert demand.step_s == pytest.approx(0.1)
    demand.wanted(8, 40.0, 0.0, now=0.0)
    for n in range(30):
        demand.wanted(8, 0.88, 0.0, now=1.0 + n)
    assert not demand.recalled
    assert demand.step_s == pytest.approx(0.11, rel=0.02)
    habit = demand.habit
    assert habit is not None
    assert habit.batch == pytest.approx(8.0)


@pytest.mark.parametrize("now_s", [0.01, 1.0])
def test_another_job_of_that_recipe_is_known_after_three_steps(now_s: float) -> None:
    demand = Demand()
    demand.recall(Habit(0.1, 8.0))
    for n in range(3):
        demand.wanted(8, 8 * now_s, 0.0, now=float(n))
    assert demand.step_s == pytest.approx(now_s)


def shares_of_new(experience: Experience, first_step_ms: float) -> tuple[list[float], float]:
    """Return the shares of a job from when it comes, every 50 ms, and that in the end."""
    jobs = (
        JobSpec("a", dataset="a", rows=200_000, row_ms=8.0, batch=64, step_ms=100.0),
        JobSpec(
            "new",
            dataset="b",
            rows=200_000,
            row_ms=6.0,
            batch=64,
            step_ms=800.0,
            first_step_ms=first_step_ms,
            arrival_s=1.0,
        ),
    )
    workload = Workload(jobs, MachineSpec(cores=2), seconds=16.0)
    outcome = play(workload, every_s=0.05, experience=experience)
    found = [one.share["new"] for one in outcome.glances if one.share.get("new")]
    return found, found[-1]


def test_a_known_recipe_has_its_share_in_a_tenth_of_the_time() -> None:
    experience = Experience()
    without, end = shares_of_new(experience, 1700.0)
    off = sum(abs(share / end - 1) > 0.1 for share in without)
    known = Experience(experience.all())
    with_it, end = shares_of_new(known, 1700.0)
    assert end == pytest.approx(64 / 0.8 * 0.006, rel=0.02)
    assert off > 20
    assert sum(abs(share / end - 1) > 0.1 for share in with_it) <= off / 10
