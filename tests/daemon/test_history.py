"""Counts become rates, rates are kept for a while, and nothing grows without bounds."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joader.daemon.history import History, mean
from joader.statistics import (
    FlowStatistics,
    JobStatistics,
    MomentStatistics,
    NodeStatistics,
    TimeStatistics,
    TotalStatistics,
)

JOB = JobStatistics(
    id=1,
    name="a",
    table="",
    pid=9,
    rank=0,
    world_size=1,
    epoch=0,
    position=0,
    delivered=0,
    prepared=0,
    hits=0,
    shared=0,
    rows=1000,
)


def read(job: JobStatistics, delivered: int, prepared: int, **more: object) -> JobStatistics:
    """Return a job that has got so many in all."""
    return replace(
        job, position=delivered, delivered=delivered, prepared=prepared, hits=delivered - prepared,
        **more,  # type: ignore[arg-type]
    )  # fmt: skip


def node(time: float, *jobs: JobStatistics) -> NodeStatistics:
    totals = TotalStatistics(
        delivered=sum(job.delivered for job in jobs), prepared=sum(job.prepared for job in jobs)
    )
    return NodeStatistics(time=time, jobs=jobs, totals=totals)


def after(*nodes: NodeStatistics, cpu_s: tuple[dict[int, float], ...] = ()) -> History:
    """Return what is known after these, a second apart."""
    history = History(0.0)
    for second, one in enumerate(nodes):
        history.note(float(second), one, cpu_s[second] if cpu_s else {})
    return history


def test_counts_become_samples_per_second_and_time_left() -> None:
    nodes = [node(100.0 + second, read(JOB, 50 * second, 20 * second)) for second in range(4)]
    history = after(*nodes)
    seen = history.seen(3.0, nodes[-1])
    assert (seen.delivered_per_s, seen.prepared_per_s, seen.uptime_s) == (50.0, 20.0, 3.0)
    (job,) = seen.jobs
    assert (job.samples_per_s, job.time_left_s) == (50.0, (1000 - 150) / 50.0)
    assert job.done == 0.15


def test_figures_as_they_are_seen_say_what_limits_each_job_and_the_node() -> None:
    time = TimeStatistics(batches=50, batch_s=0.1, collating=0.6)
    nodes = [replace(node(float(n), read(JOB, 50 * n, 20 * n, time=time)), pid=7) for n in range(4)]
    history = after(*nodes)
    seen = history.seen(3.0, nodes[-1])
    assert seen.jobs[0].diagnosis.kind == seen.diagnosis.kind == "collate"
    # What is shown with it counts: here it gets nothing now, and waits.
    stuck = replace(nodes[-1].jobs[0], flow=FlowStatistics(preparing=8))
    history = after(node(1.0, stuck), node(2.0, stuck))
    said = history.seen(2.0, node(2.0, stuck)).jobs[0].diagnosis.says
    assert said.startswith("It waits 100% of the time")


def test_a_job_that_does_not_move_has_no_time_left() -> None:
    still = read(JOB, 10, 10)
    history = after(node(1.0, still), node(2.0, still))
    assert history.seen(2.0, node(2.0, still)).jobs[0].time_left_s is None


def test_hits_save_what_a_row_took_at_that_time() -> None:
    history = after(
        node(1.0, JOB),
        node(2.0, read(JOB, 10, 0, row_s=0.1)),
        node(3.0, read(JOB, 20, 0, row_s=0.3, computing_s=0.2)),
    )
    seen = history.seen(3.0, node(3.0, read(JOB, 20, 0, row_s=0.3)))
    assert seen.jobs[0].saved_s == pytest.approx(10 * 0.1 + 10 * 0.3)
    assert seen.jobs[0].saved_cpu_s == pytest.approx(10 * 0.2)
    assert seen.jobs[0].saved == seen.jobs[0].hits / 20 == 1.0
    history.left(read(JOB, 30, 0, row_s=0.3), 4.0)
    assert history.seen(4.0, node(4.0)).totals.saved_s == pytest.approx(7.0)
    assert history.seen(4.0, node(4.0)).totals.saved_cpu_s == pytest.approx(2.0)
    (gone,) = history.run(node(4.0)).past
    assert (gone.delivered, gone.saved_s) == (30, pytest.approx(7.0))
    assert gone.saved == 1.0


def test_a_moment_looks_back_five_seconds_so_that_single_batches_are_no_spikes() -> None:
    nodes = [node(float(second), read(JOB, 100 * (second // 2), 0)) for second in range(12)]
    rates = [one.delivered_per_s for one in after(*nodes).run(nodes[-1]).moments]
    assert set(rates[5:]) == {40.0, 60.0}  # two or three batches of 100 in five seconds


def test_a_job_waits_as_it_says_or_all_the_time_if_it_gets_nothing() -> None:
    waits = read(JOB, 10, 10, wait_s=0.25)
    history = after(node(1.0, JOB), node(2.0, waits))
    assert history.seen(2.0, node(2.0, waits)).jobs[0].waiting == 0.25
    stuck = replace(waits, flow=FlowStatistics(preparing=8))
    history = after(node(1.0, waits), node(2.0, stuck))
    assert history.seen(2.0, node(2.0, stuck)).jobs[0].waiting == 1.0


def test_workers_time_is_shared_by_what_was_prepared_and_how_long_it_takes() -> None:
    other = replace(JOB, id=2)
    later = read(JOB, 30, 30, row_s=0.1), read(other, 10, 10, row_s=0.9)
    history = after(node(1.0, JOB, other), node(2.0, *later))
    shares = [job.worker_share for job in history.seen(2.0, node(2.0, *later)).jobs]
    assert shares == [0.25, 0.75]


def test_processors_are_counted_of_workers_that_were_there_before() -> None:
    history = after(node(1.0), node(2.0), cpu_s=({7: 1.0, 8: 5.0}, {7: 1.75, 9: 100.0}))
    assert history.seen(2.0, node(2.0)).cpu_cores == 0.75


def test_only_what_is_later_is_told_again() -> None:
    history = after(*(node(100.0 + second) for second in range(5)))
    assert [one.time for one in history.run(node(105.0)).moments] == [101.0, 102.0, 103.0, 104.0]
    assert [one.time for one in history.run(node(105.0), since=103.0).moments] == [104.0]


def test_days_take_no_more_than_ten_minutes_and_a_day() -> None:
    history = History(0.0)
    for second in range(25 * 3600):
        job = replace(JOB, id=second // 1000)
        history.note(float(second), node(float(second), job), {})
        if second % 1000 == 999:
            history.left(job, float(second))
    run = history.run(node(25 * 3600.0))
    assert (len(run.moments), len(run.minutes), len(run.past)) == (600, 24 * 60, 87)
    assert len(history._saved_s) <= 1  # of jobs that are here


def test_of_jobs_that_have_ended_the_last_hundred_are_kept_for_a_day() -> None:
    history = History(0.0)
    for number in range(130):
        history.left(replace(JOB, id=number), 1000.0 + number)
    assert [job.id for job in history.past(2000.0)] == list(range(30, 130))
    assert [job.id for job in history.past(1000.0 + 24 * 3600 + 120)] == list(range(120, 130))
    assert history.past(1e9) == ()


def test_final_figures_are_of_all_the_time_that_a_job_ran() -> None:
    history = after(node(100.0, JOB), node(101.0, read(JOB, 10, 0)))
    last = read(JOB, 100, 25, began=100.0, wait_s=5.0, flow=FlowStatistics(preparing=3))
    history.left(last, 120.0)
    (job,) = history.past(121.0)
    assert (job.samples_per_s, job.waiting, job.saved, job.done) == (5.0, 0.25, 0.75, 0.1)
    assert (job.ended, job.time_left_s, job.flow) == (120.0, None, FlowStatistics())


def test_jobs_that_have_ended_are_called_as_later_runs_have_it() -> None:
    history = History(0.0)
    for number in (1, 2):
        history.left(replace(JOB, id=number, label="train.py"), 100.0)
    run = history.run(node(101.0), labels={1: "train.py --lr 0.1"})
    assert [job.label for job in run.past] == ["train.py --lr 0.1", "train.py"]


@given(st.lists(st.tuples(st.floats(0.1, 10), st.floats(0, 1e4)), min_size=1, max_size=8))
def test_a_mean_is_over_time(pairs) -> None:  # type: ignore[no-untyped-def]
    moments = [
        MomentStatistics(time=1.0, seconds=seconds, delivered_per_s=rate) for seconds, rate in pairs
    ]
    expected = sum(s * r for s, r in pairs) / sum(s for s, _ in pairs)
    assert mean(moments).delivered_per_s == pytest.approx(expected, abs=1e-3)
