"""Many simulations, one per core: a figure is hundreds of independent runs.

Workers are processes started fresh. They end with the last run, when the caller is interrupted, and
when it is killed: each watches the caller.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context, parent_process

import numpy as np
from numpy.typing import NDArray

from joader.simulator.job import Job
from joader.simulator.simulate import simulate

Rows = NDArray[np.int64]
Sets = Callable[[int, int], list[Rows]]  # (size of the largest set, seed) -> the jobs' rows
Tick = Callable[[], None]

# Rows to deliver in total, below which starting workers takes longer than they save: 3 s.
WORTH_WORKERS = 50_000


@dataclass(frozen=True)
class Run:
    """One pass of all jobs in step, each over one of the sets, with room for `slots` samples."""

    sets: Sets
    size: int
    sampler: str
    policy: str
    slots: int
    seed: int


def prepared(runs: Iterable[Run], tick: Tick = lambda: None) -> dict[Run, int]:
    """Return how many samples each run has to prepare; equal runs are done once."""
    distinct = list(dict.fromkeys(runs))
    made = {(run.sets, run.size, run.seed): run.sets(run.size, run.seed) for run in distinct}
    work = [
        (made[run.sets, run.size, run.seed], run.sampler, run.policy, run.slots, run.seed)
        for run in distinct
    ]
    found: dict[Run, int] = {}
    workers = min(len(work), len(os.sched_getaffinity(0)))
    if workers < 2 or sum(rows.size for sets, *_ in work for rows in sets) < WORTH_WORKERS:
        for run, arguments in zip(distinct, work, strict=True):
            found[run] = _prepared(arguments)
            tick()
        return found
    pool = ProcessPoolExecutor(workers, get_context("spawn"), _begin)
    try:
        for run, count in zip(distinct, pool.map(_prepared, work), strict=True):
            found[run] = count
            tick()
    finally:
        pool.shutdown(cancel_futures=True)
    return found


def _prepared(arguments: tuple[list[Rows], str, str, int, int]) -> int:
    sets, sampler, policy, slots, seed = arguments
    return simulate([Job(rows) for rows in sets], sampler, policy, slots, seed).prepared


def _begin() -> None:
    """Leave interrupts to the caller, and end when it is gone, which the pool does not notice."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_the_caller, daemon=True).start()


def _end_with_the_caller() -> None:
    caller = parent_process()
    if caller is not None:
        caller.join()
    os._exit(1)
