"""What the daemon tells of its jobs: their figures, what one waits for, what two of them share."""

import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from joader.daemon.session import Session
from joader.engine import Engine
from joader.engine.pieces import Pieces
from joader.messages import Why
from joader.version import __version__
from joader.workers.pool import Pool

Rows = NDArray[np.integer[Any]]


def status(
    engine: Engine, sessions: Mapping[int, Session], past: Mapping[str, int]
) -> dict[str, Any]:
    """Return the jobs and totals of `joader status --json`; `past`: those of jobs that left."""
    jobs = []
    totals = dict(past)
    for job, session in sessions.items():
        stats = engine.stats(job)
        figures = {name: getattr(stats, name) for name in totals}
        for name, value in figures.items():
            totals[name] += value
        jobs.append(
            {
                "id": job,
                "name": session.name,
                "table": session.table,
                "pid": session.pid,
                "rank": session.rank,
                "world_size": session.world_size,
                "epoch": session.epoch,
                "position": session.delivered,
                **figures,
            }
        )
    memory = {"used_bytes": engine.used_bytes, "pinned_bytes": engine.pinned_bytes}
    return {
        "version": __version__,
        "pid": os.getpid(),
        "memory": memory,
        "jobs": jobs,
        "totals": {**totals, "wasted": engine.wasted},
    }


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
    if session.common:
        _, row = pieces.locate(session.common, row, session.recipe) or ("", row)
    step = "the job's own part" if engine.is_own(sample) else "the dataset"
    text = f"row {row} (in {step}) {pool.whereabouts(sample)}"
    return Why(text, more_s=pool.acts_in_s(sample) or 0.0)


def explained(engine: Engine, pieces: Pieces, *sessions: Session) -> dict[str, Any]:
    """Return what is known of two jobs, whether they read one recipe, and their common rows.

    Rows of jobs with different recipes can be compared only where the dataset below is the same.
    """
    jobs = [_facts(engine, session) for session in sessions]
    same = len({session.common or session.recipe for session in sessions}) == 1
    content = {job["content"] for job in jobs}
    one, other = (_rows(engine, None if same else pieces, session) for session in sessions)
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
        about["dataset"] = "a dataset that it says nothing of"
    job = session.job or 0
    stats = engine.stats(job)
    return {
        **about,
        "id": job,
        "name": session.name,
        "pid": session.pid,
        "table": session.table,
        "team": session.team,
        "rows": int(np.unique(engine.rows_of(job)).size),
        "delivered": stats.delivered,
        "prepared": stats.prepared,
        "taken_from_others": stats.shared,
    }
