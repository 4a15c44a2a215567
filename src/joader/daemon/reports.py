"""What the daemon reports about its jobs: figures, what a job waits for, what two jobs share.

Functions only: they read the state of engine, pool and sessions at this moment, and change nothing.
"""

import json
import os
import time
from collections.abc import Callable, Iterable
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
    CacheStatistics,
    ClusterStatistics,
    CrewStatistics,
    EngineStatistics,
    FlowStatistics,
    JobStatistics,
    NodeStatistics,
    PoolStatistics,
    ReadStatistics,
    ShareStatistics,
    TierStatistics,
    TotalStatistics,
)
from joader.workers.pool import Pool

Rows = NDArray[np.integer[Any]]

# The smallest fraction of a worker that is shown: less than this means little.
_HARDLY = 0.05


def node(
    engine: EngineStatistics,
    pool: PoolStatistics,
    sessions: Iterable[Session],
    past: ReadStatistics,
    config: DaemonConfig,
    cluster: ClusterStatistics | None = None,
) -> NodeStatistics:
    """Collect all counters; `past` are those of jobs that have left."""
    known = [session for session in sessions if session.job in engine.jobs]
    here = [session for session in known if not session.elsewhere]
    jobs = tuple(job(session, here, engine, pool) for session in here)
    read = sum((engine.jobs[session.job or 0] for session in here), past)
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
        schedule=pool.schedule,
        time=time.time(),
        cores=config.workers,
        flow=sum((one.flow for one in jobs), FlowStatistics()),
        raw=engine.raw,
        cluster=cluster,
        queued=sum(crew.queued for crew in pool.crews),
        tiers=_tiers(read, engine.memory, cluster),
    )


def _tiers(
    read: ReadStatistics, memory: CacheStatistics, cluster: ClusterStatistics | None
) -> tuple[TierStatistics, ...]:
    """Return where samples came from: local memory, memory of other nodes, storage."""
    here = TierStatistics(
        name="memory",
        samples=read.hits,
        used_bytes=memory.used_bytes,
        budget_bytes=memory.budget_bytes,
    )
    if cluster is None:
        return here, TierStatistics(name="storage", samples=read.prepared)
    others = [node for node in cluster.nodes if not node.here]
    return (
        here,
        TierStatistics(
            name="other_nodes",
            samples=cluster.fetched,
            used_bytes=sum(node.used_bytes for node in others),
            budget_bytes=sum(node.budget_bytes for node in others),
        ),
        TierStatistics(name="storage", samples=cluster.prepared),
    )


def job(
    session: Session, sessions: Iterable[Session], engine: EngineStatistics, pool: PoolStatistics
) -> JobStatistics:
    """Collect the counters of one of these jobs."""
    number = session.job or 0
    crew = next((crew for crew in pool.crews if number in crew.jobs), None)
    return JobStatistics(
        id=number,
        name=session.name,
        table=session.table,
        pid=session.pid,
        rank=session.rank,
        world_size=session.world_size,
        epoch=session.epoch,
        position=session.delivered,
        schedule=pool.shares.get(number),
        **asdict(engine.jobs[number]),
        dataset=session.dataset,
        rows=session.rows,
        shares_with=_company(session, sessions),
        taken_from=engine.taken_from.get(number, {}),
        wait_s=round(session.wait_s, 3),
        row_s=crew.row_s if crew else 0.0,
        computing_s=crew.computing_s if crew else 0.0,
        storage_s=crew.storage_s if crew else 0.0,
        core_s=crew.core_s if crew else 0.0,
        own_row_s=crew.own_row_s if crew else 0.0,
        why=_why(pool.shares.get(number)) or _why_these_workers(crew, pool),
        flow=engine.flow.get(number, FlowStatistics()),
        time=session.time.statistics(),
        label=session.label,
        began=round(session.began, 3),
    )


def _company(session: Session, sessions: Iterable[Session]) -> tuple[int, ...]:
    """Return jobs that prepare the same rows in the same way; ranks of one job never do."""
    code = session.common or session.recipe
    return tuple(
        other.job or 0
        for other in sessions
        if other is not session
        and (other.common or other.recipe) == code
        and not (session.team and other.team == session.team)
    )


def _why(share: ShareStatistics | None) -> str:
    if share is None or not share.reason:
        return ""
    weight = f", weight {share.weight:g}" if share.weight != 1 else ""
    workers = f"{share.share:.2g} workers" if share.share >= _HARDLY else "hardly a worker"
    return f"{workers}{weight}: {share.reason}"


def _why_these_workers(crew: CrewStatistics | None, pool: PoolStatistics) -> str:
    if crew is None:
        return "brings none: takes what others prepare, reads the rest itself"
    if not crew.workers:
        if crew.on_their_way:
            return f"{crew.on_their_way} on their way"
        return "none now"
    count = f"{len(crew.workers)} of {len(pool.processes)} workers"
    if not crew.queued and not crew.in_hand:
        return f"{count}, idle: nothing waits"
    loan = "lent to others when idle" if crew.lends else "for this job alone"
    return f"{count}, {crew.queued + crew.in_hand:,} rows in work, {loan}"


def why(
    engine: Engine,
    pool: Pool,
    pieces: Pieces,
    session: Session,
    elsewhere: Callable[[int], str] = lambda sample: "",
) -> Why:
    """Describe what a job's next batch waits for; `elsewhere` describes samples elsewhere."""
    job = session.job or 0
    ranks, all_here = engine.waits_for_ranks(job)
    if ranks:
        return Why(ranks, patience=all_here)
    waits = engine.waits_for(job)
    if waits is None:
        return Why("nothing is missing, or there is no room in memory for what is missing")
    sample, row = waits
    if session.common:  # the message names the row by its number in the job's own dataset
        _, row = pieces.locate(session.common, row, session.recipe) or ("", row)
    step = "the job's own part" if engine.is_own(sample) else "the dataset"
    text = f"row {row} (in {step}) {elsewhere(sample) or pool.whereabouts(sample)}"
    return Why(text, more_s=pool.acts_in_s(sample) or 0.0)


def explained(engine: Engine, pieces: Pieces, *sessions: Session) -> dict[str, Any]:
    """Return what is known about two jobs: their names, recipes and common rows.

    Rows of jobs with different recipes are comparable only if their datasets are the same.
    """
    jobs = [_facts(engine, session) for session in sessions]
    same = len({session.common or session.recipe for session in sessions}) == 1
    content = {job["content"] for job in jobs}
    one, other = (_rows(engine, None if same else pieces, session) for session in sessions)
    # Equal content in two recipes: two ways to prepare the same rows.
    known = same or (len(content) == 1 and content != {""})
    common = int(np.intersect1d(one, other).size) if known else None
    return {"same_recipe": same, "rows_in_common": common, "jobs": jobs}


def _rows(engine: Engine, pieces: Pieces | None, session: Session) -> Rows:
    """Return a job's rows; with `pieces`, by their numbers in its own dataset."""
    rows = engine.rows_of(session.job or 0).rows
    if pieces is None or not session.common:
        return rows
    return pieces.own_rows(session.common, session.recipe, rows)


def _facts(engine: Engine, session: Session) -> dict[str, Any]:
    # A client's description of itself is not validated: parts may be missing or of any type.
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
        about["dataset"] = "a dataset that it does not describe"
    job, said = session.job or 0, session.register
    got = engine.statistics().jobs[job]
    return {
        **about,
        "id": job,
        "name": session.name,
        "pid": session.pid,
        "table": session.table,
        "team": session.team,
        "over_nodes": session.relay is not None,
        "locality": said is not None and bool(session.team) and said.settings.locality,
        "reads_itself": said is not None and not said.ticket,
        "order": session.order,
        "seed": session.seed,
        "rows": int(np.unique(engine.rows_of(job).rows).size),
        "delivered": got.delivered,
        "prepared": got.prepared,
        "taken_from_others": got.shared,
    }
