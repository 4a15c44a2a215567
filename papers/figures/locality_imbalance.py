"""Figure 6 of the locality paper: how much has to move so that local batches are equal.

The baseline splits the rows evenly, as the paper does. Homes by hash are uneven by chance, which
adds a little. With few nodes there is less to move: about 0.40·√((1 - 1/p)/L) of a batch. On three
nodes a median is one of few values, 1/96 of a batch or less apart; there what is *expected* is the
median itself, by counting all ways to draw a batch.
"""

from collections.abc import Iterator
from functools import lru_cache
from itertools import cycle
from math import lgamma
from statistics import median

import numpy as np

from joader.schedule.nodes.assignment import assign
from joader.schedule.nodes.placement import Node, homes
from papers.figure import Effort, Figure, Row
from papers.figures.lassen import IMAGENET
from papers.runs import Tick
from papers.simulators.many_nodes import Counts, global_batches

NODES = (3, 8, 16, 64, 256)
PAPER = {32: 6.9, 64: 4.8, 128: 3.4}
FROM = 16  # the paper's medians hold from about so many nodes
FEWEST = 3  # there the median can be counted


def rows_of(effort: Effort) -> int:
    """Return how many rows there are: ImageNet's at full effort."""
    return max(IMAGENET.rows * effort.size // 10_000, max(NODES))


def steps_of(nodes: int, effort: Effort) -> int:
    """Return how many steps the median is of: more for few nodes, where each step says less."""
    return max(100, (60 if nodes == FEWEST else 6) * effort.size // 10 // nodes)


@lru_cache(maxsize=8)
def counted_median(local: int) -> float:
    """Return the median on three nodes, in percent of a batch, over all ways to draw it."""
    size = FEWEST * local
    chances: dict[int, float] = {}
    for first in range(size + 1):
        for second in range(size - first + 1):
            counts = (first, second, size - first - second)
            ways = lgamma(size + 1) - sum(lgamma(count + 1) for count in counts)
            short = sum(max(0, local - count) for count in counts)
            chances[short] = chances.get(short, 0.0) + float(np.exp(ways - size * np.log(FEWEST)))
    total = 0.0
    for short in sorted(chances):
        total += chances[short]
        if total >= 0.5:
            return 100 * short / size
    raise AssertionError("chances do not add up to 1")


def rows(seed: int, effort: Effort, tick: Tick) -> Iterator[Row]:
    """Draw global batches and count what moves."""
    total = rows_of(effort)
    for local, paper in PAPER.items():
        expected = counted_median(local)
        for nodes in NODES:
            machines = [Node(f"node-{number}") for number in range(nodes)]
            by_hash = homes(np.arange(total), machines, seed=seed)
            evenly = np.arange(total) % nodes
            yield Row(
                case=f"{local} rows",
                x=nodes,
                paper=paper if nodes >= FROM else expected if nodes == FEWEST else None,
                ours=_median(by_hash, nodes, local, seed, effort),
                baseline=_median(evenly, nodes, local, seed, effort),
                unit="% of a global batch",
            )
            tick()


def _median(live: Counts, nodes: int, local: int, seed: int, effort: Effort) -> float:
    size = min(nodes * local, live.size // nodes * nodes)
    found: list[float] = []
    for epoch in cycle(range(10**9)):
        for batch in global_batches(live.size, size, seed + epoch):
            if batch.size == size:
                found.append(100 * assign(live[batch], [size // nodes] * nodes).moved / size)
            if len(found) == steps_of(nodes, effort):
                return median(found)
    raise AssertionError("passes do not end")


FIGURE = Figure(
    name="locality-imbalance",
    source="Locality-aware loading, figure 6",
    title="Rows that move so that local batches are equal",
    scale=lambda effort: (
        f"{rows_of(effort):,} rows, median of {steps_of(16, effort)} steps at 16 nodes"
    ),
    case_label="local batch",
    x_label="nodes",
    y_label="% of a global batch",
    paper_label="paper or expected",
    ours="homes by hash",
    baseline="rows split evenly",
    varies="sets",
    rows=rows,
    steps=lambda effort: len(PAPER) * len(NODES),
    log="x",
)
