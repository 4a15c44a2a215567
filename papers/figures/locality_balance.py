"""Algorithm 1 of the locality paper: how many transfers even out a step, and how many would do.

The optimum is found by brute force for as many nodes as that can be done for.
"""

from collections.abc import Iterator
from statistics import fmean

import numpy as np

from joader.schedule.nodes.balance import balance
from papers.figure import Effort, Figure, Row
from papers.figures.fewest_transfers import fewest_transfers
from papers.runs import Tick

NODES = (3, 4, 6, 8, 10, 12, 14)
LOCAL = (32, 128)


def steps_of(effort: Effort) -> int:
    """Return how many steps the mean is over."""
    return max(10, effort.size // 100)


def rows(seed: int, effort: Effort, tick: Tick) -> Iterator[Row]:
    """Even out random steps; the paper's column is its bound, one less than there are nodes."""
    for local in LOCAL:
        for nodes in NODES:
            rng = np.random.default_rng([seed, nodes, local])
            held = rng.multinomial(nodes * local, [1 / nodes] * nodes, steps_of(effort))
            surpluses = (held - local).tolist()
            yield Row(
                case=f"{local} rows",
                x=nodes,
                paper=nodes - 1,
                ours=fmean(len(balance(surplus)) for surplus in surpluses),
                baseline=fmean(fewest_transfers(surplus) for surplus in surpluses),
                unit="transfers per step",
            )
            tick()


FIGURE = Figure(
    name="locality-balance",
    source="Locality-aware loading, algorithm 1 and theorem 2",
    title="Transfers that even out a step",
    scale=lambda effort: f"mean of {steps_of(effort)} random steps",
    case_label="local batch",
    x_label="nodes",
    y_label="transfers per step",
    paper_label="bound: nodes - 1",
    ours="two heaps",
    baseline="optimum (brute force)",
    varies="sets",
    rows=rows,
    steps=lambda effort: len(LOCAL) * len(NODES),
)
