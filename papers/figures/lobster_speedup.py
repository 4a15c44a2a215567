"""Figure 7 of the Lobster paper: speed beside PyTorch, on one node and on eight, and the scaling.

Printed are Lobster's 1.6 (ImageNet-1K) and 1.8 times (22K) on one node, 2.0 on eight; 1.7 and 1.2
times DALI and NoPFS on one, 1.4 and 1.2 on eight; and 1.53 on average over its scales, 1.9 at most.
"""

from collections.abc import Iterator

from papers.figure import Effort, Figure, Row
from papers.figures.lobster_steps import (
    IMAGENET_1K,
    IMAGENET_22K,
    count_of,
    describe,
    loaders,
    steps,
)
from papers.runs import Tick

# Gigabytes, nodes, and Lobster's speed beside PyTorch, DALI and NoPFS.
PANELS = {
    "1K, 1 node": (IMAGENET_1K, 1, (1.6, 1.7, 1.2)),
    "22K, 1 node": (IMAGENET_22K, 1, (1.8, 1.7, 1.2)),
    "22K, 8 nodes": (IMAGENET_22K, 8, (2.0, 1.4, 1.2)),
}
NODES = (1, 2, 4, 8)
SCALING = "scaling, 22K"
AVERAGE = 1.53  # over its scales


def step_s(gigabytes: float, nodes: int, effort: Effort, seed: int) -> dict[str, float]:
    """Return the mean time of a step with each loader."""
    count = count_of(effort) if nodes == 1 else max(10, count_of(effort) // 4)
    found = loaders(effort, seed, gigabytes, nodes)
    return {
        name: float(steps(loader, count, seed, nodes).batch_s.mean())
        for name, loader in found.items()
    }


def rows(seed: int, effort: Effort, tick: Tick) -> Iterator[Row]:
    """Return how many times as fast as PyTorch each loader is."""
    for panel, (gigabytes, nodes, (beside_torch, beside_dali, beside_nopfs)) in PANELS.items():
        found = step_s(gigabytes, nodes, effort, seed)
        paper = {
            "PyTorch": 1.0,
            "DALI": beside_torch / beside_dali,
            "NoPFS": beside_torch / beside_nopfs,
            "joader": beside_torch,
        }
        for name, seconds in found.items():
            yield Row(
                case=f"{panel}: {name}",
                x=1,
                paper=paper[name],
                ours=found["PyTorch"] / seconds,
                baseline=1.0,
                unit="times as fast as PyTorch",
            )
        tick()
    scaling = {}
    for nodes in NODES:
        scaling[nodes] = step_s(IMAGENET_22K, nodes, effort, seed)
        tick()
    for name in ("NoPFS", "joader"):
        for nodes, found in scaling.items():
            yield Row(
                case=f"{SCALING}: {name}",
                x=nodes,
                paper=AVERAGE if name == "joader" else None,
                ours=found["PyTorch"] / found[name],
                baseline=1.0,
                unit="times as fast as PyTorch",
            )


FIGURE = Figure(
    name="lobster-speedup",
    source="Lobster, figure 7",
    title="Training speed beside PyTorch's loader",
    scale=lambda effort: f"{count_of(effort)} steps of 8 GPUs, fewer on several nodes",
    case_label="what: loader",
    x_label="",
    y_label="times as fast as PyTorch",
    paper_label="paper or derived",
    ours="simulated",
    baseline="PyTorch",
    varies="ours",
    rows=rows,
    steps=lambda effort: len(PANELS) + len(NODES),
    panels={**{panel: f"ImageNet-{panel}" for panel in PANELS}, SCALING: "ImageNet-22K: nodes"},
    notes=lambda effort: (
        *describe(effort),
        "the paper's value for joader is Lobster's; those of DALI and NoPFS are derived from it: "
        "Lobster is 1.7 and 1.2 times as fast as they are on one node, 1.4 and 1.2 on eight",
    ),
)
