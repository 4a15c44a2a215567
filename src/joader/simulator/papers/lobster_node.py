"""One node of the Lobster paper: 8 GPUs, ImageNet-1K (135 GB), 40 GB of memory, storage too slow.

What stays in memory is decided by the cache that serves jobs, in a run of the engine. PyTorch and
DALI rely on the page cache, taken as LRU. NoPFS keeps as much as anybody can: with one job each row
is asked for once a pass, so whatever is hit was kept over the end of a pass, and a memory of C rows
gives C hits at most, even if the future is known. RefCnt reaches that; joader is run with the
policy that the daemon runs. What is not in memory comes from storage while the GPUs compute; what
has not come when they want it is waited for. So with s = the part of a batch that storage delivers
in the time of a training step, a batch of which m is missing takes max(1, m/s) steps, and m - s of
it is not there in time.

The paper prints no rates. s is fitted to one *baseline* for each figure; its hit ratios and its GPU
use do not go together with one s.
"""

from functools import lru_cache

import numpy as np

from joader.simulator.figures import Effort
from joader.simulator.job import Job
from joader.simulator.simulate import simulate

MEMORY = 40 / 135
BATCH = 4  # few beside what memory holds
WARM, PASSES = 2, 4  # passes that do not count, and those that do
LRU, MOST, OURS = "lru", "refcount", "expected"  # policies
THREADS_GAIN = 1.3  # of Lobster's thread management over DALI on average (section 5.6)


def rows_of(effort: Effort) -> int:
    """Return how many rows a pass has here."""
    return max(300, effort.size // 5)


@lru_cache(maxsize=16)
def cached(policy: str, rows: int, seed: int, memory: float = MEMORY) -> float:
    """Return which part of a pass is in memory from the pass before, by the engine's count."""
    room = max(BATCH, round(memory * rows))
    hits = [
        simulate(
            [Job(np.arange(rows), epochs=epochs)], "independent", policy, room, seed, BATCH
        ).hits
        for epochs in (WARM, WARM + PASSES)
    ]
    return (hits[1] - hits[0]) / (PASSES * rows)


def in_time(hits: float, storage: float) -> float:
    """Return which part of a batch is there when it is wanted."""
    return min(1.0, hits + storage)


def gpu_use(hits: float, storage: float) -> float:
    """Return which part of the time the GPUs compute."""
    return min(1.0, storage / (1 - hits))


def scale(effort: Effort) -> str:
    """Say how large the engine's runs are."""
    return f"{rows_of(effort):,} rows, memory for {MEMORY:.1%} of them, {PASSES} passes"
