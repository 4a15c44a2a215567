"""Whole workloads through the daemon's own code: what theory says must come out."""

from dataclasses import replace
from itertools import combinations

import pytest

from joader.errors import BadArgument
from joader.simulator.machine.play import Outcome, play
from joader.simulator.machine.workload import JobSpec, MachineSpec, Storage, Workload

ROWS = 1_000_000  # none of them ends


def job(name: str, **more: object) -> JobSpec:
    return replace(JobSpec(name, dataset=name, rows=ROWS, batch=16, sample_kb=1.0), **more)


def played(*jobs: JobSpec, seconds: float = 12.0, **machine: object) -> Outcome:
    return play(Workload(jobs, replace(MachineSpec(), **machine), seconds=seconds))


def steps(policy: str) -> Outcome:
    """Three jobs whose steps are 1 : 3 : 9; the fastest alone would use all of two processors."""
    return played(*(job(f"{n}", step_ms=32.0 * n, row_ms=4.0) for n in (1, 3, 9)), policy=policy)


def test_one_job_alone_gets_all_that_the_machine_gives() -> None:
    (only,) = played(job("a", row_ms=4.0)).jobs
    assert only.per_s == pytest.approx(2 / 0.004, rel=0.02)
    assert only.waiting > 0.99
    assert only.delivered <= only.prepared


def test_a_slow_job_never_waits() -> None:
    (only,) = played(job("a", row_ms=4.0, step_ms=64.0)).jobs
    assert only.per_s == pytest.approx(250, rel=0.02)
    assert only.waiting < 0.02


def test_throughput_is_over_even_by_what_is_reserved_and_not_used() -> None:
    """Theory: 2 over 14/9 worker-seconds per second, 28.6 %; and nothing over fair."""
    even, most, fair = steps("even"), steps("throughput"), steps("fair")
    assert most.per_s / even.per_s == pytest.approx(9 / 7, abs=0.03)
    assert most.per_s / fair.per_s == pytest.approx(1.0, abs=0.03)
    assert [one.per_s for one in fair.jobs] == pytest.approx([278, 167, 55.6], rel=0.05)


def test_cheap_rows_first_is_half_as_much_again_and_the_dear_job_pays() -> None:
    jobs = [job("cheap", row_ms=1.0, batch=64), job("dear", row_ms=10.0, batch=64)]
    fair, most = played(*jobs), played(*jobs, policy="throughput")
    assert most.per_s / fair.per_s > 1.5
    assert fair.jobs[1].per_s == pytest.approx(100, rel=0.05)
    assert most.jobs[1].per_s < 0.15 * fair.jobs[1].per_s


def test_fair_lets_nobody_fall_below_its_share_by_weight() -> None:
    jobs = [job("a", row_ms=2.0), job("b", row_ms=5.0), job("c", row_ms=3.0, weight=2.0)]
    found = played(*jobs).jobs
    used = [one.per_s * spec.row_ms / 1000 for one, spec in zip(found, jobs, strict=True)]
    assert used == pytest.approx([0.5, 0.5, 1.0], rel=0.1)


def test_jobs_of_one_dataset_prepare_each_row_once() -> None:
    jobs = [replace(job(name, row_ms=4.0, step_ms=64.0), dataset="common") for name in "ab"]
    jobs = [replace(one, rows=4000) for one in jobs]
    found = played(*jobs, seconds=60.0)
    assert sum(one.delivered for one in found.jobs) == 8000
    assert sum(one.prepared for one in found.jobs) <= 4200
    assert found.seconds == pytest.approx(4000 / 250, rel=0.05)


def test_an_own_part_takes_its_time_for_its_job_alone() -> None:
    (only,) = played(job("a", row_ms=2.0, own_ms=6.0)).jobs
    assert only.per_s == pytest.approx(2 / 0.008, rel=0.05)


def test_a_job_with_own_parts_that_comes_later_gets_as_much_as_the_first() -> None:
    """The first has had all workers that the machine keeps busy; they cannot do its own parts."""
    one = job("a", dataset="common", row_ms=8.0, own_ms=6.0, batch=64, workers=8)
    found = played(one, replace(one, name="b", arrival_s=2.0), seconds=14.0, cores=8)
    first, second = found.jobs
    # They are in step soon, and the second had taken from the start what the first had left.
    assert second.delivered == pytest.approx(first.delivered, rel=0.1)
    assert first.per_s + second.per_s > 0.95 * 2 * 8 / (0.008 + 2 * 0.006)


@pytest.mark.parametrize("percent", [10, 50, 80])
def test_a_ceiling_is_kept_within_five_points(percent: int) -> None:
    found = played(job("a", row_ms=4.0), job("b", row_ms=2.0), cpu=f"{percent}%")
    used = [sum(glance.used.values()) for glance in found.glances if glance.at_s > 10]
    assert sum(used) / len(used) / 2 == pytest.approx(percent / 100, abs=0.05)


def test_rows_that_wait_run_many_at_a_time() -> None:
    """Each waits 20 ms and computes 1: twelve workers are one processor's work, not twelve.

    All of them wait together, and then compute together: 6 ms for twelve on two processors.
    """
    slow = Workload(
        (job("a", row_ms=1.0, storage="far", workers=12, batch=64),),
        storages={"far": Storage(latency_ms=20.0)},
        seconds=20.0,
    )
    (only,) = play(slow).jobs
    assert 0.95 * 12 / 0.026 < only.per_s < 12 / 0.021


@pytest.mark.slow
def test_a_storage_that_turns_slow_and_quick_is_followed() -> None:
    """At least 0.9 of the best fixed number of requests in each phase, and 1.3 times any one.

    Slow, 16 requests at a time give 800 rows per second; quick, 3 give 714 and 16 give 140. So 3
    give 143 + 714 over both, 16 give 940, and the best of both would be 1514. The second of 20 ms
    and 4 ms that a row takes goes by; the rest is what workers and messages take.
    """
    turns = Storage(latency_ms=4.0, crowd=3, most=16, slow_ms=20.0, slow_s=20.0)
    jobs = (job("a", row_ms=0.2, storage="far", workers=24, batch=32),)
    machine, found = MachineSpec(cores=4), []
    for seconds in (20.0, 40.0):
        play_it = Workload(jobs, machine, {"far": turns}, seconds)
        found.append(play(play_it).jobs[0].delivered)
    slow, quick = found[0] / 20, (found[1] - found[0]) / 20
    assert slow >= 0.9 * 800
    assert quick >= 0.9 * 714
    assert slow + quick >= 1.3 * 940


def test_contention_makes_rows_dearer_and_the_pool_slower() -> None:
    found = played(job("a", row_ms=4.0), contention=(1.0, 1.25))
    assert found.per_s == pytest.approx(2 / 0.005, rel=0.03)


def test_jobs_on_one_gpu_share_it() -> None:
    jobs = [job(name, row_ms=1.0, step_ms=80.0, gpu="0") for name in "ab"]
    assert played(*jobs).per_s == pytest.approx(16 / 0.08, rel=0.03)


def test_jobs_come_and_go_and_leave_their_time_to_others() -> None:
    found = played(
        job("stays", row_ms=4.0),
        replace(job("visits", row_ms=4.0), rows=1000, arrival_s=5.0),
        seconds=30.0,
    )
    stays, visits = found.jobs
    assert visits.seconds == pytest.approx(1000 / 250, rel=0.15)
    assert stays.per_s == pytest.approx((26 * 500 + 4 * 250) / 30, rel=0.05)


def test_one_seed_gives_one_outcome() -> None:
    assert steps("fair") == steps("fair")


def test_what_does_not_fit_is_said_as_the_daemon_would() -> None:
    with pytest.raises(BadArgument, match=r"the daemon would refuse this: .*joader up --memory"):
        played(job("a", sample_kb=4000.0), memory="8MB")


# Milliseconds per row, rows per batch, milliseconds per step.
COSTS = [(0.2, 16, 5.0), (2.0, 16, 0.0), (10.0, 64, 0.0), (100.0, 32, 0.0), (400.0, 8, 10.0)]


def waits_within_its_bound(*which: int, own: bool) -> None:
    jobs = [
        job(str(n), batch=batch, step_ms=step_ms, **{"own_ms" if own else "row_ms": row_ms})
        for n, (row_ms, batch, step_ms) in enumerate(COSTS)
        if n in which
    ]
    found = played(*jobs, seconds=20.0)
    for spec, one in zip(jobs, found.jobs, strict=True):
        alone_s = spec.batch * (spec.row_ms + spec.own_ms) / 1000 / 2  # on two processors
        # A row that was begun is finished, whoever waits.
        row_s = max(other.row_ms + other.own_ms for other in jobs if other is not spec) / 1000
        assert one.delivered
        assert one.longest_wait_s <= max(1.0, 4 * alone_s) + row_s, spec.name


@pytest.mark.parametrize("which", [(0, 2, 4), (1, 3, 4)])
def test_who_waits_gets_a_batch_in_a_second_or_four_times_what_it_costs_alone(
    which: tuple[int, ...],
) -> None:
    waits_within_its_bound(*which, own=True)


@pytest.mark.slow
@pytest.mark.parametrize("own", [False, True], ids=["rows", "own parts"])
@pytest.mark.parametrize("which", list(combinations(range(len(COSTS)), 3)))
def test_so_does_whoever_waits_beside_whomever(which: tuple[int, ...], own: bool) -> None:
    waits_within_its_bound(*which, own=own)
