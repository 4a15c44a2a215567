"""Figure 8c of the Lobster paper: how long steps take, and how much that varies.

The paper prints no numbers: "there is less variance in per-batch time than the baselines", and it
is shorter. One node, ImageNet-1K; a training step takes 1.
"""

from collections.abc import Iterator

import numpy as np

from papers.figure import Effort, Figure, Row
from papers.figures.lobster_steps import (
    IMAGENET_1K,
    count_of,
    describe,
    loaders,
    steps,
)
from papers.runs import Tick

PERCENTS = (1, 5, 10, 25, 50, 75, 90, 95, 99)


def rows(seed: int, effort: Effort, tick: Tick) -> Iterator[Row]:
    """Return the percentiles of each loader."""
    found = {}
    for name, loader in loaders(effort, seed, IMAGENET_1K, 1).items():
        found[name] = np.percentile(steps(loader, count_of(effort), seed).batch_s, PERCENTS)
        tick()
    torch = found.pop("PyTorch")
    for name, one in found.items():
        for percent, seconds, baseline in zip(PERCENTS, one, torch, strict=True):
            yield Row(name, percent, None, float(seconds), float(baseline), "training steps")


def notes(effort: Effort) -> tuple[str, ...]:
    """Say how much steps vary, and what was fitted."""
    found = {
        name: steps(loader, count_of(effort), 0).batch_s
        for name, loader in loaders(effort, 0, IMAGENET_1K, 1).items()
    }
    spread = ", ".join(f"{name} {one.mean():.2f} ± {one.std():.2f}" for name, one in found.items())
    return (f"mean and standard deviation of a step, seed 0: {spread}", *describe(effort))


FIGURE = Figure(
    name="lobster-batchtimes",
    source="Lobster, figure 8c",
    title="How long steps take on one node",
    scale=lambda effort: f"{count_of(effort)} steps of 8 GPUs, ImageNet-1K",
    case_label="loader",
    x_label="% of the steps take at most",
    y_label="training steps",
    ours="simulated",
    baseline="PyTorch, fitted",
    varies="ours",
    rows=rows,
    steps=lambda effort: 4,
    notes=notes,
)
