"""Steps of the Lobster paper's machine: when each GPU has its batch, and when all of them go on.

Rows that are not in memory are read, by the threads of each GPU (*own* threads), or by one pool for
all GPUs of a node, as joader has it: whoever has most to come is served first (`schedule.turns`).
What stays in memory is the engine's count (lobster_node.py). A loader works up to AHEAD batches
ahead; a step begins when the last GPU of all nodes has its batch, and takes one unit of time.

The paper's equation 1 *adds* reading from memory, other nodes and storage. Here reading from memory
and other nodes takes no time beside storage, and preparing with own threads is never the bottleneck
(as the paper observes), so what is left of the sum is storage. joader's pool prepares, too: its
threads take the *sum* of reading and preparing for each row.

Free are what a thread of PyTorch and one of DALI read per step. Each is fitted to its own GPU use
(Figure 10); both are baselines.
"""

from dataclasses import dataclass
from functools import lru_cache
from heapq import heapreplace

import numpy as np
from numpy.typing import NDArray

from joader.schedule.work.turns import Turns
from papers.figure import Effort
from papers.figures.lobster_node import (
    DALI_READING,
    LRU,
    MOST,
    OURS,
    PREPARING,
    READING,
    ROW_KB,
    SAMPLE_KB,
    THREADS,
    cached,
    rows_of,
)

GPUS, BATCH = 8, 32  # per node, per GPU; the batch is not printed
AHEAD = 2
FITTED = 60  # steps of which the mean is fitted
SPREAD = 0.69  # of sizes, as 300 photos of ImageNet have it
IMAGENET_1K, IMAGENET_22K = 135.0, 1300.0  # GB
NODE_GB = 40.0
GPU_USE = {"PyTorch": 52.3, "DALI": 57.5}
Times = NDArray[np.float64]


@dataclass(frozen=True)
class Loader:
    """How batches are loaded: the part of rows to read, and who reads.

    `read_s`: steps of a thread for a row of mean size; `prepare_s` the same, for a pool alone;
    `threads` per GPU.
    """

    missing: float
    threads: int
    read_s: float
    prepare_s: float = 0.0
    pooled: bool = False
    keeps_prepared: bool = False


@dataclass(frozen=True)
class Steps:
    """What came of it: how long steps took, and when each GPU had its data, step by step."""

    batch_s: Times  # steps
    loading_s: Times  # steps × GPUs: how long the batch took to load
    late_s: Times  # steps × GPUs: how much later than the first GPU its batch was there
    idle_s: Times  # steps × GPUs: how long it waited for the others, its own batch being there


def kept(policy: str, gigabytes: float, nodes: int, effort: Effort, seed: int) -> float:
    """Return which part of its rows a node finds in memory.

    PyTorch's nodes do not share theirs. What a node reads is a new random part every epoch: its
    memory holds what it read in the last epochs. The others hold what the cluster has room for.
    """
    if policy == LRU and nodes > 1:
        epochs = NODE_GB * nodes / gigabytes
        return float(1 - (1 - 1 / nodes) ** epochs)
    room = NODE_GB * nodes / gigabytes
    if policy == OURS:
        room *= ROW_KB / SAMPLE_KB
    return 1.0 if room >= 1 else cached(policy, rows_of(effort), seed, room)


def steps(loader: Loader, count: int, seed: int, nodes: int = 1) -> Steps:
    """Let all GPUs of all nodes train for so many steps together."""
    rng = np.random.default_rng([seed, 7])
    shape = np.log1p(SPREAD**2)
    gpus = GPUS * nodes
    loading, ready = np.zeros((count, gpus)), np.zeros((count, gpus))
    begins = np.zeros(count)
    teams = nodes if loader.pooled else gpus
    members = GPUS if loader.pooled else 1  # GPUs that a team of threads serves
    free = [[0.0] * (loader.threads * members) for _ in range(teams)]
    for number in range(count):
        sizes = rng.lognormal(-shape / 2, shape**0.5, (gpus, BATCH))
        to_read = rng.random((gpus, BATCH)) < loader.missing
        may = begins[number - AHEAD] if number >= AHEAD else 0.0
        costs = _costs(loader, sizes, to_read)
        for team, threads in enumerate(free):
            its = slice(team * members, (team + 1) * members)
            begun = max(may, threads[0])
            ready[number, its] = np.maximum(_read(costs[its], threads, may), begun)
            loading[number, its] = ready[number, its] - begun
        before = begins[number - 1] + 1.0 if number else 0.0
        begins[number] = max(before, ready[number].max())
    here = np.maximum(ready, np.concatenate(([0.0], begins[:-1] + 1.0))[:, None])
    return Steps(
        batch_s=np.diff(begins),
        loading_s=loading[1:],
        late_s=(here - here.min(1, keepdims=True))[1:],
        idle_s=(begins[:, None] - here)[1:],
    )


def _costs(loader: Loader, sizes: Times, to_read: NDArray[np.bool_]) -> list[list[float]]:
    """Return for each GPU what its rows take a thread; what takes no time is left out."""
    found = []
    for mine, missing in zip(sizes, to_read, strict=True):
        reading = mine[missing] * (loader.read_s + loader.prepare_s)
        there = [] if loader.keeps_prepared else (mine[~missing] * loader.prepare_s).tolist()
        found.append([*reading.tolist(), *(cost for cost in there if cost)])
    return found


def _read(rows: list[list[float]], free: list[float], may: float) -> Times:
    """Return when the batch of each GPU is there; `free` says when each thread is, as a heap.

    A thread that is free takes a row of who has most to come; it goes on to the next batches when
    it has nothing to do here, but not before `may`.
    """
    ready = np.zeros(len(rows))
    # What a GPU has lasts the longer the less of its batch is missing.
    turns = Turns((-float(len(costs)), gpu) for gpu, costs in enumerate(rows) if costs)
    left = [list(costs) for costs in rows]
    while turns:
        gpu = turns.next
        done = max(free[0], may) + left[gpu].pop()
        heapreplace(free, done)
        ready[gpu] = max(ready[gpu], done)
        if left[gpu]:
            turns.again(-float(len(left[gpu])))
        else:
            turns.leave()
    return ready


@lru_cache(maxsize=8)
def fitted(name: str, memory: float, threads: int, seed: int) -> float:
    """Return what a row takes a thread to read, so that GPUs compute as long as the paper says."""
    wanted = 100 / GPU_USE[name]
    low, high = 0.0, 4.0 * threads / BATCH
    for _ in range(12):
        middle = (low + high) / 2
        found = steps(Loader(1 - memory, threads, middle), FITTED, seed).batch_s.mean()
        low, high = (middle, high) if found < wanted else (low, middle)
    return (low + high) / 2


def loaders(effort: Effort, seed: int, gigabytes: float, nodes: int) -> dict[str, Loader]:
    """Return the loaders of the paper, and joader, on so many nodes."""
    there = kept(LRU, IMAGENET_1K, 1, effort, seed)
    read = {
        name: fitted(name, there, threads, seed)
        for name, threads in (("PyTorch", READING), ("DALI", DALI_READING))
    }

    def missing(policy: str) -> float:
        return 1 - kept(policy, gigabytes, nodes, effort, seed)

    return {
        "PyTorch": Loader(missing(LRU), READING, read["PyTorch"]),
        "DALI": Loader(missing(LRU), DALI_READING, read["DALI"]),
        "NoPFS": Loader(missing(MOST), READING, read["PyTorch"]),
        "joader": Loader(
            missing(OURS),
            THREADS,
            read["PyTorch"],
            PREPARING / BATCH,
            pooled=True,
            keeps_prepared=True,
        ),
    }


def count_of(effort: Effort) -> int:
    """Return how many steps are simulated."""
    return max(20, effort.size // 20)


def describe(effort: Effort, seed: int = 0) -> tuple[str, ...]:
    """Say what was fitted, for people."""
    found = loaders(effort, seed, IMAGENET_1K, 1)
    return (
        f"a thread reads {1 / found['PyTorch'].read_s:.1f} rows per step (PyTorch, NoPFS: "
        f"{READING} per GPU), {1 / found['DALI'].read_s:.1f} (DALI: {DALI_READING}), fitted to "
        "their GPU use on one node; all else is predicted",
    )
