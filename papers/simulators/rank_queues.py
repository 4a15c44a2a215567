"""Ranks of one job on one node: threads for each rank's queue, or one pool for all of them.

In each iteration every rank needs a batch, and all train when the last is there. Rows differ in
cost (lognormal), and ranks in how many of their rows are in memory already. Under `equal` each rank
has the same number of threads; under `queues` in proportion to rows that wait, as Lobster begins;
under `algorithm 1` as `schedule.rank_threads` finds out; under `pool` each thread takes the next
row of whoever has most to do, which is by deadline, as all batches are due together. If costs are
`told`, as the paper predicts them from sizes, the algorithm knows what each batch costs, and the
longest rows come first everywhere; else all count rows. Loading goes on while the batch before is
trained on, so an iteration takes as long as the longer of the two.
"""

from dataclasses import dataclass
from heapq import heapreplace
from random import Random

from papers.simulators.rank_threads import in_proportion, rank_threads

WAYS = ("equal", "queues", "algorithm 1", "pool")
_THRESHOLD = 0.05  # of a training step


@dataclass(frozen=True)
class Node:
    """What is simulated; the unit of time is what a row of mean cost takes one thread."""

    ranks: int = 8
    threads: int = 32
    batch: int = 32
    spread: float = 0.69  # of the cost of rows, as that of ImageNet photos
    hits: float = 0.3  # rows that are in memory, on average
    uneven: float = 0.2  # how far ranks differ in that
    train: float = 6.0
    told: bool = False  # what rows cost is known beforehand


@dataclass(frozen=True)
class Iterations:
    """On average: how long iterations take, and how much later the last rank has its batch."""

    lasts: float
    lateness: float


def compare(node: Node, iterations: int = 300, seed: int = 0) -> dict[str, Iterations]:
    """Return what each way of giving threads makes of the same batches."""
    draw = Random(seed)
    sums = {way: [0.0, 0.0] for way in WAYS}
    for _ in range(iterations):
        batches = [_batch(node, draw) for _ in range(node.ranks)]
        for way in WAYS:
            done = _pooled(batches, node) if way == "pool" else _apart(batches, node, way)
            sums[way][0] += max(node.train, *done)
            sums[way][1] += max(done) - min(done)
    return {way: Iterations(a / iterations, b / iterations) for way, (a, b) in sums.items()}


def _batch(node: Node, draw: Random) -> list[float]:
    """Return what the rows of a batch cost that are not in memory."""
    hits = node.hits + node.uneven * draw.uniform(-1.0, 1.0)
    rows = [draw.random() > hits for _ in range(node.batch)]
    # Of mean 1, whatever the spread.
    return [draw.lognormvariate(-(node.spread**2) / 2, node.spread) for row in rows if row]


def _apart(batches: list[list[float]], node: Node, way: str) -> list[float]:
    """Return when each rank's batch is there, with threads of its own."""
    waiting = [len(batch) for batch in batches]
    if way == "equal":
        threads = [node.threads // node.ranks] * node.ranks
    elif way == "queues":
        threads = in_proportion(waiting, node.threads)
    else:
        costs = [sum(batch) if node.told else float(len(batch)) for batch in batches]
        threads = rank_threads(
            waiting,
            lambda rank, number: costs[rank] / number - node.train,
            node.threads,
            _THRESHOLD * node.train,
        )
    ordered = [sorted(batch, reverse=True) if node.told else batch for batch in batches]
    return [_done(batch, number) for batch, number in zip(ordered, threads, strict=True)]


def _done(batch: list[float], threads: int) -> float:
    free = [0.0] * max(1, threads)
    for cost in batch:
        heapreplace(free, free[0] + cost)
    return max(free)


def _pooled(batches: list[list[float]], node: Node) -> list[float]:
    """Return when each rank's batch is there, if all threads serve whoever has most to do."""
    rows = [(cost, rank) for rank, batch in enumerate(batches) for cost in batch]
    if node.told:
        rows.sort(reverse=True)
    else:
        # Row by row from whoever has most of them left: the places from the end of each batch.
        places = [(len(batch) - n, r) for r, batch in enumerate(batches) for n in range(len(batch))]
        rows = [row for _, row in sorted(zip(places, rows, strict=True), reverse=True)]
    done, free = [0.0] * len(batches), [0.0] * node.threads
    for cost, rank in rows:
        ends = free[0] + cost
        heapreplace(free, ends)
        done[rank] = max(done[rank], ends)
    return done
