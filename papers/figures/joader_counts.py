"""What the engine prepares in the JOADER paper's settings: parts of an epoch, per job.

The paper's cache is not given; it is small beside the data. Here it holds a twentieth of the rows.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from joader.simulator.job import Job
from joader.simulator.simulate import simulate
from papers.figure import Effort

BATCH = 8
MEMORY = 0.05


def rows_of(effort: Effort) -> int:
    """Return how many rows a pass has here."""
    return max(200, effort.size // 5)


@lru_cache(maxsize=64)
def prepared_parts(
    sampler: str,
    speeds: tuple[float, ...],
    starts: tuple[float, ...],
    overlap: float,
    rows: int,
    seed: int,
    epochs: int = 1,
) -> tuple[float, ...]:
    """Return which part of what each job reads is prepared for it; starts are in epochs.

    Speeds are relative. `overlap` is what each set has in common with the one before it.
    """
    fastest = max(speeds)
    shift = round(rows * (1 - overlap))
    jobs = [
        # Whole numbers of a hundredth keep the times on the simulator's clock short fractions.
        Job(
            np.arange(rows) + shift * number,
            round(100 * speed / fastest) / 100,
            start * rows,
            epochs,
        )
        for number, (speed, start) in enumerate(zip(speeds, starts, strict=True))
    ]
    found = simulate(jobs, sampler, "expected", max(BATCH, int(MEMORY * rows)), seed, BATCH)
    return tuple(part.prepared / part.delivered for part in found.jobs)


def in_step(sampler: str, jobs: int, effort: Effort, seed: int) -> tuple[float, ...]:
    """Return the parts for equal jobs that start together."""
    return prepared_parts(sampler, (1.0,) * jobs, (0.0,) * jobs, 1.0, rows_of(effort), seed)


def scale(effort: Effort) -> str:
    """Say how large the engine's runs are."""
    return f"prepared parts from {rows_of(effort):,} rows, memory for {MEMORY:.0%} of them"


def alone(jobs: Sequence[object]) -> tuple[float, ...]:
    """Return the parts of jobs that load by themselves: everything."""
    return (1.0,) * len(jobs)
