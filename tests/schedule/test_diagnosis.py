"""What limits a job and a node, from measured times: the kind, and what the sentence says to do."""

import math
from dataclasses import replace

import pytest

from joader.messages import Want
from joader.schedule.diagnosis import TimeUse, diagnosed
from joader.statistics import (
    CrewStatistics,
    DiagnosisStatistics,
    JobStatistics,
    NodeStatistics,
    ScheduleStatistics,
    ShareStatistics,
    TimeStatistics,
    WorkStatistics,
)

# Words that older screens had for jobs that waited, whatever they waited for.
GUESSES = ("never has to wait", "needs no more", "one in each of")


def work(computing: float = 0.0, storage: float = 0.0, core: float = 0.0) -> WorkStatistics:
    """Return what workers spend on a sample, in milliseconds."""
    return WorkStatistics(
        computing_s=computing / 1000, storage_s=storage / 1000, core_s=core / 1000
    )


def job(
    number: int = 1,
    waiting: float = 0.8,
    share: ShareStatistics | None = None,
    time: TimeStatistics | None = None,
    **more: object,
) -> JobStatistics:
    figures = {
        "id": number, "name": f"job {number}", "table": "", "pid": 100 + number, "rank": 0,
        "world_size": 1, "epoch": 0, "position": 500, "delivered": 500, "prepared": 500,
        "hits": 0, "shared": 0, "samples_per_s": 50.0, "schedule": share,
        "time": time or TimeStatistics(batches=100, batch_s=0.1, waiting=waiting),
        **more,
    }  # fmt: skip
    return JobStatistics(**figures)  # type: ignore[arg-type]


def lends(its: WorkStatistics, used: float = 1.9, **more: object) -> ShareStatistics:
    """Return the share of a job that wants all that it can get; it `used` so many cores."""
    figures = {"needed": None, "share": 2.0, "used": used, "work": its, **more}
    return ShareStatistics(**figures)  # type: ignore[arg-type]


def crew(*jobs: int, workers: int = 2, **more: object) -> CrewStatistics:
    figures = {
        "ticket": "t", "jobs": jobs, "workers": tuple(range(workers)), "lends": True, "queued": 0,
        "in_hand": 0, "on_their_way": 0, **more,
    }  # fmt: skip
    return CrewStatistics(**figures)  # type: ignore[arg-type]


def node(*jobs: JobStatistics, **more: object) -> NodeStatistics:
    figures = {
        "pid": 7, "jobs": jobs, "cores": 2, "crews": tuple(crew(one.id) for one in jobs),
        "schedule": ScheduleStatistics(policy="fair", cores=2, active=2.0), **more,
    }  # fmt: skip
    return diagnosed(NodeStatistics(**figures))  # type: ignore[arg-type]


def only(one: JobStatistics, **more: object) -> DiagnosisStatistics:
    (found,) = node(one, **more).jobs
    assert not any(guess in found.diagnosis.says + found.diagnosis.do for guess in GUESSES)
    return found.diagnosis


def test_rows_that_wait_for_a_core_are_not_told_to_wait_for_storage_or_for_more_workers() -> None:
    """As it was seen: computing 2.4 ms, storage 0.1, and a worker takes 15.6."""
    share = lends(work(2.4, 0.1, 13.1), used=0.5, needed=1.5, share=1.5)
    found = only(job(waiting=0.95, share=share))
    assert found.kind == "core"
    assert found.says == (
        "It waits 95% of the time: other programs have the cores, so a sample that needs 2.5 ms "
        "takes workers 15.6 ms."
    )
    assert "more workers do not help" in found.do


def test_if_the_training_itself_has_the_cores_no_other_program_is_blamed() -> None:
    its = TimeStatistics(batches=100, batch_s=0.1, waiting=0.5, cores=1.4)
    found = only(job(time=its, share=lends(work(2.0, 0.0, 6.0), used=0.5)))
    assert found.kind == "core"
    assert "the training itself has the cores" in found.says
    assert "torch.set_num_threads" in found.do


def test_workers_that_stand_in_line_for_each_other_compute() -> None:
    found = only(job(share=lends(work(2.0, 0.0, 6.0), used=1.9)))
    assert found.kind == "computing"
    assert "workers keep 1.9 of 2 cores busy" in found.says
    assert "or use more cores" in found.do


def test_a_little_time_in_line_is_no_reason() -> None:
    assert only(job(share=lends(work(2.0, 0.0, 0.9), used=1.2))).kind == "computing"
    assert only(job(share=lends(work(0.3, 20.0, 4.0), used=0.1))).kind == "storage"
    assert only(job(share=lends(work(2.0, 8.0, 7.0), used=0.3))).kind == "storage"


@pytest.mark.parametrize(
    ("crews", "advice"),
    [
        ((crew(1, most=4),), "Lend more workers (num_workers=8), because each waits for one row."),
        ((crew(1),), "Lend more workers (num_workers=4)"),
        ((crew(1, most=24, in_flight_most=6),), "Use faster storage; more than 6 rows at a time"),
        ((crew(1, reads_ahead=True, in_flight_most=16),), "Use faster storage; more than 16 rows"),
        ((crew(1, reads_ahead=True),), "Use faster storage."),
    ],
)
def test_rows_that_wait_for_storage(crews: tuple[CrewStatistics, ...], advice: str) -> None:
    found = only(job(share=lends(work(0.5, 20.0, 0.4), used=0.05)), crews=crews)
    assert found.kind == "storage"
    assert "for 20 ms of the 20.9 ms" in found.says
    assert found.do.startswith(advice)


def test_a_job_with_few_workers_beside_free_cores_is_told_to_lend_more() -> None:
    found = only(job(share=lends(work(2.0), used=0.95)), crews=(crew(1, workers=1, most=1),))
    assert found.kind == "computing"
    assert found.do == "Lend more workers (num_workers=2), because cores are free."


def test_a_ceiling_and_a_costly_own_part_are_named() -> None:
    half = ScheduleStatistics(policy="fair", cores=2, cpu=0.5, active=1.0)
    assert "more than 50% of the cores" in only(job(share=lends(work(2.0), 0.95)), schedule=half).do
    own = replace(work(2.0), own_s=0.0015)
    assert "from transform= to prepare=" in only(job(share=lends(own))).do


def test_a_job_behind_others_is_told_so_and_the_node_is_told_what_all_lack() -> None:
    mine, its = lends(work(2.0), 0.6, share=0.66), lends(work(2.0), 1.3, share=1.3)
    found = node(job(1, share=mine), job(2, share=its))
    one, other = (each.diagnosis for each in found.jobs)
    assert (one.kind, other.kind) == ("share", "computing")
    assert "workers compute 68% of their time" in one.says
    assert "joader jobs 1 --weight 2" in one.do
    assert found.diagnosis.kind == "computing"
    assert found.diagnosis.says.startswith("2 of 2 jobs wait up to 80% of the time: preparing is")


def test_jobs_that_need_the_same_rows_are_not_behind_each_other() -> None:
    share = lends(work(2.0), 0.47, share=0.5)
    four = [job(n, share=share, shares_with=tuple({1, 2, 3, 4} - {n})) for n in range(1, 5)]
    assert {one.diagnosis.kind for one in node(*four).jobs} == {"computing"}


def test_ranks_of_one_job_are_not_behind_each_other() -> None:
    share = lends(work(2.0), 0.47, share=0.5)
    ranks = [job(n, share=share, name="ddp", rank=n, world_size=4) for n in range(4)]
    assert {one.diagnosis.kind for one in node(*ranks).jobs} == {"computing"}


def test_whatever_costs_more_is_named_of_cores_and_shares() -> None:
    crowded = [job(n, share=lends(work(2.0, 0.0, 8.0), 0.25, share=1.0)) for n in (1, 2)]
    assert {one.diagnosis.kind for one in node(*crowded).jobs} == {"core"}
    many = [job(n, share=lends(work(2.0, 0.0, 2.0), 0.16, share=0.3)) for n in range(1, 7)]
    assert {one.diagnosis.kind for one in node(*many).jobs} == {"share"}


def test_a_policy_that_reserves_is_named() -> None:
    even = ScheduleStatistics(policy="even", cores=2, active=2.0)
    share = lends(work(2.0), used=1.0, needed=2.0, share=1.0)
    found = only(job(share=share), schedule=even)
    assert found.kind == "share"
    assert "policy even keeps it at 1 workers" in found.says
    assert "joader policy fair" in found.do


@pytest.mark.parametrize(
    ("waiting", "reading", "collating", "kind"),
    [
        (0.02, 0.0, 0.03, "training"),
        (0.05, 0.0, 0.6, "collate"),
        (0.05, 0.5, 0.1, "computing"),
        (0.4, 0.0, 0.3, "storage"),
    ],
)
def test_what_a_job_does_with_its_time_counts_first(
    waiting: float, reading: float, collating: float, kind: str
) -> None:
    time = TimeStatistics(
        batches=50, batch_s=0.2, waiting=waiting, reading=reading, collating=collating
    )
    found = node(job(time=time, share=lends(work(0.5, 20.0))))
    assert found.jobs[0].diagnosis.kind == found.diagnosis.kind == kind
    if kind == "training":
        assert found.jobs[0].diagnosis.says.startswith("It waits 2% of the time")
        assert found.diagnosis.says.startswith("No job waits for data")
        assert found.diagnosis.do == ""


def test_a_job_that_gets_nothing_waits_whatever_it_said_before() -> None:
    busy = TimeStatistics(batches=50, batch_s=0.2, waiting=0.0)
    job_of_now = job(time=busy, share=lends(work(0.5, 20.0)))
    stuck = replace(job_of_now, waiting=1.0, samples_per_s=0.0)
    assert only(stuck).says.startswith("It waits 100% of the time: rows wait for storage")
    paused = replace(stuck, waiting=0.0)
    assert only(paused).kind == "training"
    assert "asks for no data now" in only(paused).says


def test_what_is_not_known_is_not_said() -> None:
    begun = job(time=TimeStatistics(batches=2, batch_s=0.1, waiting=1.0))
    assert only(begun) == DiagnosisStatistics(says="It has only begun to read.")
    nothing = replace(begun, waiting=1.0, samples_per_s=0.0)
    assert only(nothing).says == "It waits for its first batches."
    assert only(job()).says == "It waits 80% of the time: rows have not been timed yet."
    idle = only(job(share=lends(work(2.0), used=0.1)))
    assert idle.kind == "starting"
    assert "joader cannot tell why" in idle.says
    without = only(job(share=lends(work(2.0), used=0.0)), crews=(crew(1, workers=0),))
    assert "joader cannot tell why" in without.says
    assert node().diagnosis.says == "No job reads now."
    assert diagnosed(NodeStatistics()).diagnosis == DiagnosisStatistics()
    assert node(begun).diagnosis.says == "Jobs have only begun to read."


def test_a_job_without_workers_waits_for_what_those_it_shares_with_wait_for() -> None:
    reads = job(1, shares_with=(2,))
    brings = job(2, share=lends(work(2.0, 0.0, 9.0), 0.4), shares_with=(1,))
    assert node(reads, brings).jobs[0].diagnosis.kind == "core"


def test_the_node_has_the_reason_for_which_jobs_lose_most() -> None:
    slow = [job(n, 0.3, share=lends(work(0.5, 20.0), 0.05)) for n in (1, 2, 3)]
    collates = job(4, time=TimeStatistics(batches=50, batch_s=0.2, collating=0.6))
    found = node(*slow, collates)
    assert found.diagnosis.kind == "storage"
    assert found.diagnosis.says.startswith("3 of 4 jobs wait up to 30% of the time: rows wait for")
    found = node(slow[0], collates)
    assert found.diagnosis.kind == "collate"
    assert found.diagnosis.says.startswith("1 of 2 jobs spends 60% of its time making batches")


def want(step_s: float, wait_s: float = 0.0, **more: float) -> Want:
    return Want(0, 16, step_s=step_s, wait_s=wait_s, **more)


def test_parts_of_a_jobs_time_follow_from_what_it_says_of_its_batches() -> None:
    use = TimeUse()
    assert use.statistics() == TimeStatistics()
    for _ in range(200):
        use.note(want(0.06, 0.04, read_s=0.01, collate_s=0.02, cpu_s=0.05))
    its = use.statistics()
    parts = (its.batch_s, its.waiting, its.reading, its.collating, its.cores)
    assert parts == pytest.approx((0.1, 0.4, 0.1, 0.2, 0.5))


@pytest.mark.parametrize("batch_s", [0.001, 0.1, 10.0])
def test_what_has_changed_is_seen_within_seconds_or_a_few_batches(batch_s: float) -> None:
    use = TimeUse()
    for _ in range(200):
        use.note(want(batch_s))
    for _ in range(math.ceil(max(10.0 / batch_s, 8))):
        use.note(want(batch_s / 2, batch_s / 2))
    assert use.statistics().waiting > 0.35


def test_one_long_step_says_little() -> None:
    use = TimeUse()
    for _ in range(100):
        use.note(want(0.05, 0.05))
    use.note(want(600.0))  # an evaluation
    assert use.statistics().waiting > 0.4


@pytest.mark.parametrize("nonsense", [math.nan, math.inf, -1.0])
def test_nonsense_is_left_out(nonsense: float) -> None:
    use = TimeUse()
    use.note(want(0.1, 0.1))
    for name in ("step_s", "wait_s", "read_s", "collate_s", "cpu_s"):
        use.note(Want(0, 16, **{"step_s": 0.1, name: nonsense}))  # type: ignore[arg-type]
    assert use.statistics().batches == 1
    use.note(want(0.1, 0.1, read_s=5.0, collate_s=5.0))  # more than there was
    its = use.statistics()
    assert its.waiting + its.reading + its.collating <= 1.0
