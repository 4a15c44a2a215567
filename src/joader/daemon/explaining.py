"""The facts of what two jobs share: `joader explain` says them in words."""

import json
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from joader.daemon.session import Session
from joader.engine import Engine
from joader.engine.pieces import Pieces

Rows = NDArray[np.integer[Any]]


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
        "environment": msgspec.to_builtins(session.environment),
        "delivered": stats.delivered,
        "prepared": stats.prepared,
        "taken_from_others": stats.shared,
    }
