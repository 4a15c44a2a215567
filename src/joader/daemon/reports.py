"""What the daemon reports about its jobs: figures, what one waits for, what two of them share.

Functions only: they read what engine, pool and sessions know at this moment, and change nothing.
"""

import json
import os
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from joader.config import DaemonConfig
from joader.daemon.machine import cgroup
from joader.daemon.session import Session
from joader.engine import Engine
from joader.engine.pieces import Pieces
from joader.messages import Why
from joader.statistics import (
    EngineStatistics,
    JobStatistics,
    NodeStatistics,
    PoolStatistics,
    ReadStatistics,
    TotalStatistics,
)
from joader.workers.pool import Pool

Rows = NDArray[np.integer[Any]]


def node(
    engine: EngineStatistics,
    pool: PoolStatistics,
    sessions: Iterable[Session],
    past: ReadStatistics,
    config: DaemonConfig,
) -> NodeStatistics:
    """Put together what `joader status --json` prints; `past`: what jobs got that have left."""
    jobs = tuple(_job(session, engine) for session in sessions if session.job in engine.jobs)
    read = sum(engine.jobs.values(), past)
    return NodeStatistics(
        pid=os.getpid(),
        memory=engine.memory,
        jobs=jobs,
        totals=TotalStatistics(**asdict(read), wasted=engine.wasted),
        workers=len(pool.processes),
        worker_processes=pool.processes,
        started_by=config.started_by or None,
        cgroup=cgroup(),
        crews=pool.crews,
    )


def _job(session: Session, engine: EngineStatistics) -> JobStatistics:
    job = session.job or 0
    return JobStatistics(
        id=job,
        name=session.name,
        table=session.table,
        pid=session.pid,
        rank=session.rank,
        world_size=session.world_size,
        epoch=session.epoch,
        position=session.delivered,
        **asdict(engine.jobs[job]),
    )


def why(engine: Engine, pool: Pool, pieces: Pieces, session: Session) -> Why:
    """Say in words what a job's next batch waits for."""
    job = session.job or 0
    ranks, all_here = engine.waits_for_ranks(job)
    if ranks:
        return Why(ranks, patience=all_here)
    waits = engine.waits_for(job)
    if waits is None:
        return Why("nothing is missing for it, or there is no room in memory for what is")
    sample, row = waits
    if session.common:  # the message is to name the row as the job's own dataset does
        _, row = pieces.locate(session.common, row, session.recipe) or ("", row)
    step = "the job's own part" if engine.is_own(sample) else "the dataset"
    text = f"row {row} (in {step}) {pool.whereabouts(sample)}"
    return Why(text, more_s=pool.acts_in_s(sample) or 0.0)


def explained(engine: Engine, pieces: Pieces, *sessions: Session) -> dict[str, Any]:
    """Return what is known about two jobs, whether they read one recipe, and their common rows.

    Rows of jobs with different recipes can be compared only if the dataset below is the same.
    """
    jobs = [_facts(engine, session) for session in sessions]
    same = len({session.common or session.recipe for session in sessions}) == 1
    content = {job["content"] for job in jobs}
    one, other = (_rows(engine, None if same else pieces, session) for session in sessions)
    # Equal content under two recipes: two ways to prepare the same rows.
    known = same or (len(content) == 1 and content != {""})
    common = int(np.intersect1d(one, other).size) if known else None
    return {"same_recipe": same, "rows_in_common": common, "jobs": jobs}


def _rows(engine: Engine, pieces: Pieces | None, session: Session) -> Rows:
    """Return a job's rows; with `pieces`, as its own dataset numbers them."""
    rows = engine.rows_of(session.job or 0)
    if pieces is None or not session.common:
        return rows
    return pieces.own_rows(session.common, session.recipe, rows)


def _facts(engine: Engine, session: Session) -> dict[str, Any]:
    # What a client says about itself is only passed on, so its parts may be missing or odd.
    about: dict[str, Any] = {"dataset": "", "content": "", "place": "", "outline": "", "key": ""}
    about |= {
        "shared": [],
        "own": [],
        "columns": [],
        "deterministic": not session.fresh,
        "private": False,
        "opaque": "",
        "runs": {},
    }
    try:
        about |= json.loads(session.about or b"{}")
    except (ValueError, TypeError):
        about["dataset"] = "a dataset that it says nothing about"
    job = session.job or 0
    got = engine.statistics().jobs[job]
    return {
        **about,
        "id": job,
        "name": session.name,
        "pid": session.pid,
        "table": session.table,
        "team": session.team,
        "order": session.order,
        "seed": session.seed,
        "rows": int(np.unique(engine.rows_of(job)).size),
        "delivered": got.delivered,
        "prepared": got.prepared,
        "taken_from_others": got.shared,
    }
