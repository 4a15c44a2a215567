"""Figure 4 of the Lobster paper: after how many iterations a node uses a sample again.

With 8 nodes and slices as usual a sample comes back to a node once in eight epochs. The paper: "80%
of the training samples have the reuse distance larger than 1,000 iterations" (562 an epoch). If
nodes train on the rows that live there, a sample comes back in the next epoch, always.
"""

from collections.abc import Iterator

import numpy as np

from joader.sampling import SeededSampler
from joader.schedule.nodes.placement import Node, homes
from papers.figure import Effort, Figure, Row
from papers.runs import Tick
from papers.simulators.many_nodes import Counts

NODES, ITERATIONS, EPOCHS = 8, 562, 40
COUNTED = 10  # epochs whose samples are followed to their next use
DISTANCES = (100, 250, 500, 1000, 2000, 4000, 8000)
PAPER = {1000: 80.0}


def batch_of(effort: Effort) -> int:
    """Return the rows of a global batch, which do not matter for distances."""
    return NODES * max(1, effort.size // 2500)


def rows(seed: int, effort: Effort, tick: Tick) -> Iterator[Row]:
    """Return which part of the samples has a larger distance; the baseline has usual slices."""
    batch = batch_of(effort)
    total = batch * ITERATIONS
    live = homes(np.arange(total), [Node(f"node-{number}") for number in range(NODES)], seed=seed)
    slices, local = _Distances(total), _Distances(total)
    sampler = SeededSampler(seed)
    for epoch in range(EPOCHS):
        sampler.add("job", np.arange(total), epoch)
        order = sampler.draw({"job": total})["job"]
        when = epoch * ITERATIONS + np.arange(total) // batch
        first = np.arange(total) % batch < batch // NODES  # the slice of the first node
        slices.use(order[first], when[first])
        mine = live[order] == 0
        local.use(order[mine], when[mine])
        tick()
    for distance in DISTANCES:
        yield Row(
            case="usual slices",
            x=distance,
            paper=PAPER.get(distance),
            ours=local.above(distance),
            baseline=slices.above(distance),
            unit="% of samples",
        )


class _Distances:
    """Iterations from each use on a node to the next, for uses in the epochs that count."""

    def __init__(self, rows: int) -> None:
        self._last = np.full(rows, -1)
        self._found: list[Counts] = []

    def use(self, rows: Counts, when: Counts) -> None:
        """Note uses, each row at most once."""
        before = self._last[rows]
        counted = (before >= 0) & (before < COUNTED * ITERATIONS)
        self._found.append((when - before)[counted])
        self._last[rows] = when

    def above(self, distance: int) -> float:
        """Return the percentage that is larger; what was not used again in time is."""
        found = np.concatenate(self._found)
        open_ended = int(((self._last >= 0) & (self._last < COUNTED * ITERATIONS)).sum())
        return float(100 * ((found > distance).sum() + open_ended) / (found.size + open_ended))


FIGURE = Figure(
    name="lobster-reuse",
    source="Lobster, figure 4",
    title="Samples that a node uses again only after so many iterations",
    scale=lambda effort: f"8 nodes, 562 iterations of {batch_of(effort)} rows per epoch",
    case_label="baseline",
    x_label="iterations",
    y_label="% of samples",
    ours="rows where they live",
    baseline="usual slices",
    varies="baseline",
    rows=rows,
    steps=lambda effort: EPOCHS,
    log="x",
)
