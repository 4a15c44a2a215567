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
use do not go together with one s. Reading is latency-bound, so s grows with the threads that read.
Printed is that DALI reads with 3. Its hits fit if PyTorch and NoPFS ("the same as PyTorch") read
with 2; 6 more prepare, since that is where preparing peaks (Figure 6). joader has no such split:
each of the 8 does what is wanted next. What preparing takes is not printed; it is never the
bottleneck with the 5 threads that DALI leaves for it, so 5 thread-steps per batch are the most.
"""

from functools import lru_cache

import numpy as np

from joader.simulator.job import Job
from joader.simulator.machine.play import JobOutcome, play
from joader.simulator.machine.workload import JobSpec, MachineSpec, Storage, Workload
from joader.simulator.simulate import simulate
from papers.figure import Effort

MEMORY = 40 / 135
ROW_KB, SAMPLE_KB = 135e6 / 1.28e6, 224 * 224 * 3 / 1e3  # joader keeps rows prepared
THREADS, READING, DALI_READING = 8, 2, 3  # per GPU, and those of them that read
PREPARING = float(THREADS - DALI_READING)  # thread-steps per batch, at most
BATCH = 4  # few beside what memory holds
WARM, PASSES = 2, 4  # passes that do not count, and those that do
LRU, MOST, OURS = "lru", "refcount", "expected"  # policies


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


def served_rows(effort: Effort) -> int:
    """Return how many rows a pass of the simulated machine has: its ends weigh less in long ones.

    Hits grow with it: 70.7 % at 2,000 rows, 71.9 % at 4,000, 72.4 % at 8,000.
    """
    return max(200, 4 * effort.size // 5)


@lru_cache(maxsize=16)
def served(storage: float, rows: int, seed: int) -> tuple[float, float]:
    """Return which part of a pass joader has in memory, and of the time that its GPU computes.

    The daemon's engine and dispatch serve one GPU with its part of the node's threads; `storage` is
    the part of a batch that READING threads read in a step.
    """
    first, last = (_pass(storage, rows, seed, epochs) for epochs in (WARM, WARM + PASSES))
    delivered = last.delivered - first.delivered
    waiting = (last.wait_s - first.wait_s) / (last.seconds - first.seconds)
    return 1 - (last.prepared - first.prepared) / delivered, 1 - waiting


def _pass(storage: float, rows: int, seed: int, epochs: int) -> JobOutcome:
    batch, step_ms = 16, 160.0
    job = JobSpec(
        "gpu",
        rows=rows,
        row_ms=PREPARING * step_ms / batch,
        row_kb=ROW_KB,
        sample_kb=SAMPLE_KB,
        storage="lustre",
        batch=batch,
        step_ms=step_ms,
        epochs=epochs,
        workers=THREADS,
    )
    memory_kb = max(MEMORY * rows * ROW_KB, 6 * batch * SAMPLE_KB)
    machine = MachineSpec(cores=THREADS, memory=f"{memory_kb:.0f}KB")
    lustre = Storage(latency_ms=READING / storage * step_ms / batch)
    return play(Workload((job,), machine, {"lustre": lustre}), seed, every_s=0.2).jobs[0]


def in_time(hits: float, storage: float) -> float:
    """Return which part of a batch is there when it is wanted."""
    return min(1.0, hits + storage)


def gpu_use(hits: float, storage: float) -> float:
    """Return which part of the time the GPUs compute."""
    return min(1.0, storage / (1 - hits))


def scale(effort: Effort) -> str:
    """Say how large the engine's runs are."""
    return f"{rows_of(effort):,} rows, memory for {MEMORY:.1%} of them, {PASSES} passes"
