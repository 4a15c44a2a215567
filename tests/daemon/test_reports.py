"""What the daemon reports: figures put together from its rooms, and what two jobs share."""

import os
from typing import Any

import numpy as np

from joader.config import DaemonConfig
from joader.daemon import reports
from joader.daemon.session import Session
from joader.engine import Engine
from joader.engine.pieces import Pieces
from joader.messages import JobSettings, Join, Register
from joader.statistics import (
    CacheStatistics,
    ClusterStatistics,
    EngineStatistics,
    PeerStatistics,
    PoolStatistics,
    ReadStatistics,
    ShareStatistics,
    TierStatistics,
)
from joader.wire import Allowance

CONFIG = DaemonConfig(memory_bytes=1 << 20, workers=1, started_by=55)
NO_WORKERS = PoolStatistics(processes=(), crews=())


def nothing(*_: Any) -> None:
    """Take note of nothing."""


def session(job: int, about: bytes = b"", **more: Any) -> Session:
    """Return the session of a job that has registered."""
    made = Session(1000 + job, nothing, nothing, Allowance(1 << 20))
    made.job = job
    rows = np.arange(4, dtype=np.int64)
    join = Join(job, more.pop("recipe", "code"), rows, 4, 2, **more)
    made.registered(Register(join, JobSettings(f"job {job}"), table="flowers@2", about=about))
    return made


def engine_with(**jobs: ReadStatistics) -> EngineStatistics:
    memory = CacheStatistics(used_bytes=640, pinned_bytes=64, budget_bytes=1 << 20)
    known = {int(name.removeprefix("job")): read for name, read in jobs.items()}
    return EngineStatistics(jobs=known, memory=memory, wasted=3)


def test_totals_are_those_of_jobs_that_are_here_and_of_jobs_that_have_left() -> None:
    figures = engine_with(job1=ReadStatistics(10, 4, 6, 5), job2=ReadStatistics(20, 20, 0, 0))
    past = ReadStatistics(100, 60, 40, 1)
    node = reports.node(figures, NO_WORKERS, [session(1), session(2)], past, CONFIG)
    totals = node.totals
    assert (totals.delivered, totals.prepared, totals.hits) == (130, 84, 46)
    assert (totals.shared, totals.wasted) == (6, 3)


def test_a_job_is_shown_with_who_it_is_and_what_it_got() -> None:
    reader = session(7, rank=1, world_size=2, team="t")
    reader.epoch, reader.delivered = 3, 96
    node = reports.node(
        engine_with(job7=ReadStatistics(10, 4, 6, 5)),
        *(NO_WORKERS, [reader], ReadStatistics(), CONFIG),
    )
    (job,) = node.jobs
    assert (job.id, job.name, job.table, job.pid) == (7, "job 7", "flowers@2", 1007)
    assert (job.rank, job.world_size, job.epoch, job.position) == (1, 2, 3, 96)
    assert (job.delivered, job.prepared, job.hits, job.shared) == (10, 4, 6, 5)


def test_it_says_where_samples_came_from_the_nearest_place_first() -> None:
    figures = engine_with(job1=ReadStatistics(10, 4, 6, 5))
    cluster = ClusterStatistics(
        nodes=(
            PeerStatistics(name="a", host="", port=0, cores=1, here=True, budget_bytes=7),
            PeerStatistics(name="b", host="", port=0, cores=1, used_bytes=1, budget_bytes=2),
            PeerStatistics(name="c", host="", port=0, cores=1, used_bytes=3, budget_bytes=4),
        ),
        prepared=1,
        fetched=3,
    )

    def tiers(*more: ClusterStatistics) -> tuple[TierStatistics, ...]:
        rest = (NO_WORKERS, [session(1)], ReadStatistics(), CONFIG)
        return reports.node(figures, *rest, *more).tiers

    here = TierStatistics(name="memory", samples=6, used_bytes=640, budget_bytes=1 << 20)
    assert tiers() == (here, TierStatistics(name="storage", samples=4))
    assert tiers(cluster) == (
        here,
        TierStatistics(name="other_nodes", samples=3, used_bytes=4, budget_bytes=6),
        TierStatistics(name="storage", samples=1),
    )


def test_a_node_says_which_process_it_is_and_who_started_it() -> None:
    pool = PoolStatistics(processes=(8, 9), crews=())
    node = reports.node(engine_with(), pool, [], ReadStatistics(), CONFIG)
    assert (node.pid, node.started_by) == (os.getpid(), 55)
    assert (node.workers, node.worker_processes) == (2, (8, 9))
    assert node.memory.budget_bytes == 1 << 20
    by_a_person = DaemonConfig(memory_bytes=1 << 20, workers=1)
    assert reports.node(engine_with(), pool, [], ReadStatistics(), by_a_person).started_by is None


def test_why_a_job_has_its_workers_is_said_without_digits_that_say_nothing() -> None:
    shares = {
        1: ShareStatistics(share=0.352, reason="fair"),
        2: ShareStatistics(share=0.0012, weight=2.0, reason="fair"),
    }
    pool = PoolStatistics(processes=(), crews=(), shares=shares)
    figures = engine_with(job1=ReadStatistics(), job2=ReadStatistics())
    node = reports.node(figures, pool, [session(1), session(2)], ReadStatistics(), CONFIG)
    assert [job.why for job in node.jobs] == [
        "0.35 workers: fair",
        "hardly a worker, weight 2: fair",
    ]


def explained(*sessions: Session) -> dict[str, Any]:
    engine = Engine(1 << 20)
    for one in sessions:
        rows = np.arange(4, dtype=np.int64) + (one.job or 0)
        engine.handle(Join(one.job or 0, one.recipe, rows, 16, 2))
    return reports.explained(engine, Pieces(), *sessions)


def test_jobs_of_one_recipe_have_rows_in_common() -> None:
    facts = explained(session(1), session(2))
    assert facts["same_recipe"]
    assert facts["rows_in_common"] == 3  # 2, 3, 4


def test_rows_of_different_recipes_are_compared_only_if_the_content_is_the_same() -> None:
    unknown = explained(session(1), session(2, recipe="other"))
    assert not unknown["same_recipe"]
    assert unknown["rows_in_common"] is None
    about = b'{"content": "the same files"}'
    known = explained(session(1, about), session(2, about, recipe="other"))
    assert known["rows_in_common"] == 3


def test_a_job_that_describes_itself_in_bad_json_is_explained_all_the_same() -> None:
    facts = explained(session(1, b"{"), session(2, b"[1]"))
    assert all("does not describe" in job["dataset"] for job in facts["jobs"])
