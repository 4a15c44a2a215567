"""Figures 8a and 8b of the Lobster paper: iterations in which GPUs do not get their data together.

Each GPU of PyTorch has its own threads, so the one with the largest files is last. In joader all
ranks of a node draw from one pool, whoever would run dry first (`schedule.turns`), so their batches
are done together. An iteration is imbalanced if the last batch comes later than the first by more
than a threshold. The paper does not give it: it is fitted to PyTorch on one node. Nor does it say
whether 8 nodes are compared node by node ("x8") or over all 64 GPUs ("x64 GPUs"): both are shown.
Over all of them nearly every iteration is imbalanced here, with joader too, unlike in the paper.
Its "reduces by 31.4%" may be points or relative: both are shown, and what other loaders have is
derived from it. Points are likelier: so it writes of hits. Sizes vary as those of 300 ImageNet
photos do (0.69 of their mean); ImageNet-22K has 1.3 TB, of which a node holds 40 GB. 32 rows per
GPU follow from 14,197,103 images in 55,457 and 6,932 steps; 4 threads per GPU are not printed.
"""

from collections.abc import Iterator, Mapping
from heapq import heapify, heapreplace

import numpy as np
from numpy.typing import NDArray

from joader.schedule.work.turns import Turns
from papers.figure import Effort, Figure, Row
from papers.figures.lobster_node import LRU, MOST, OURS, cached, rows_of
from papers.runs import Tick

GPUS, BATCH, THREADS = 8, 32, 4  # per node, per GPU, per GPU
SPREAD = 0.69
NODES = (1, 8)
LOBSTER = {1: 17.5, 8: 22.8}
MEMORY = {1: 40 / 1300, 8: 320 / 1300}  # PyTorch's nodes do not share theirs
# By how much Lobster has fewer than each, on 1 and 8 nodes.
REDUCED: Mapping[str, tuple[float, float]] = {"PyTorch": (31.4, 35.2), "NoPFS": (7.9, 9.7)}
LOADERS = {"PyTorch": (LRU, False), "NoPFS": (MOST, False), "joader": (OURS, True)}
ALL = "x64 GPUs"  # of 8 nodes, compared with each other
READINGS = ("points", "relative")
Late = NDArray[np.float64]


def paper(loader: str, nodes: int, reading: str) -> float:
    """Return the percentage of imbalanced iterations that the paper prints for a loader."""
    ours = LOBSTER[nodes]
    if loader == "joader":
        return ours
    reduced = REDUCED[loader][NODES.index(nodes)]
    return ours + reduced if reading == "points" else ours / (1 - reduced / 100)


def steps_of(effort: Effort) -> int:
    """Return how many iterations are simulated."""
    return max(200, effort.size // 5)


def lateness(missing: float, pooled: bool, iterations: int, seed: int, nodes: int = 1) -> Late:
    """Return for each iteration how much later the last batch is there than the first.

    The unit is the time of a row of mean size.
    """
    rng = np.random.default_rng([seed, pooled])
    shape = np.log1p(SPREAD**2)
    found = np.empty(iterations)
    for iteration in range(iterations):
        ready: list[float] = []
        for counts in rng.binomial(BATCH, missing, (nodes, GPUS)).tolist():
            rows = [rng.lognormal(-shape / 2, shape**0.5, count).tolist() for count in counts]
            ready += _pooled(rows) if pooled else [_done(sizes, THREADS) for sizes in rows]
        found[iteration] = max(ready) - min(ready)
    return found


def _done(sizes: list[float], threads: int) -> float:
    """Return when so many threads have read these, each taking the next when it is free."""
    free = [0.0] * threads
    for size in sizes:
        heapreplace(free, free[0] + size)
    return max(free)


def _pooled(rows: list[list[float]]) -> list[float]:
    """Return when the batch of each rank is there, if all threads serve who has most to come."""
    free = [0.0] * (THREADS * len(rows))
    heapify(free)
    ready = [0.0] * len(rows)
    # What a rank has lasts the longer the less of its batch is missing.
    turns = Turns((-float(len(sizes)), rank) for rank, sizes in enumerate(rows) if sizes)
    left = [list(sizes) for sizes in rows]
    while turns:
        rank = turns.next
        done = free[0] + left[rank].pop()
        heapreplace(free, done)
        ready[rank] = max(ready[rank], done)
        if left[rank]:
            turns.again(-float(len(left[rank])))
        else:
            turns.leave()
    return ready


def rows(seed: int, effort: Effort, tick: Tick) -> Iterator[Row]:
    """Return percentages for both readings."""
    late: dict[tuple[str, str], Late] = {}
    for name, (policy, pooled) in LOADERS.items():
        for nodes in NODES:
            memory = MEMORY[1 if name == "PyTorch" else nodes]
            missing = 1 - cached(policy, rows_of(effort), seed, memory)
            late[name, f"x{nodes}"] = lateness(missing, pooled, steps_of(effort), seed)
            tick()
        late[name, ALL] = lateness(missing, pooled, steps_of(effort) // 4, seed, NODES[-1])
        tick()
    for reading in READINGS:
        threshold = np.quantile(late["PyTorch", "x1"], 1 - paper("PyTorch", 1, reading) / 100)
        for (name, where), found in late.items():
            fitted = " (fitted)" if (name, where) == ("PyTorch", "x1") else ""
            yield Row(
                case=f"{reading}: {name} {where}{fitted}",
                x=1,
                paper=paper(name, 1 if where == "x1" else NODES[-1], reading),
                ours=float(100 * (found > threshold).mean()),
                baseline=float(100 * (late["PyTorch", "x1"] > threshold).mean()),
                unit="% of iterations",
            )


FIGURE = Figure(
    name="lobster-imbalance",
    source="Lobster, figures 8a and 8b",
    title="Iterations in which GPUs wait for one of them",
    scale=lambda effort: f"{steps_of(effort)} iterations of a node with 8 GPUs, 1 and 8 nodes",
    case_label='"%" are: loader',
    x_label="",
    y_label="% of iterations",
    paper_label="paper or derived",
    ours="simulated",
    baseline="PyTorch on one node",
    varies="ours",
    rows=rows,
    steps=lambda effort: len(LOADERS) * (len(NODES) + 1),
    panels={reading: f'the paper\'s "%" as {reading}' for reading in READINGS},
)
