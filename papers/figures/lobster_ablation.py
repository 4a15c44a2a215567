"""Figure 11 of the Lobster paper: what threads and what memory are worth, each alone.

Beside DALI on one node with ImageNet-1K: threads alone give 1.3 times its speed on average (1.4 at
most), eviction alone 1.15, all together 1.7 (section 5.2). Here *threads* is joader's one pool with
what LRU keeps; *eviction* is DALI's threads with what joader's policy keeps of raw rows.
"""

from collections.abc import Iterator
from dataclasses import replace

from papers.figure import Effort, Figure, Row
from papers.figures.lobster_node import OURS, cached, rows_of
from papers.figures.lobster_steps import (
    IMAGENET_1K,
    count_of,
    describe,
    loaders,
    steps,
)
from papers.runs import Tick

PAPER = {"threads alone": 1.3, "eviction alone": 1.15, "both": 1.7}


def rows(seed: int, effort: Effort, tick: Tick) -> Iterator[Row]:
    """Return how many times as fast as DALI each is."""
    found = loaders(effort, seed, IMAGENET_1K, 1)
    dali, joader = found["DALI"], found["joader"]
    parts = {
        "threads alone": replace(joader, missing=dali.missing, keeps_prepared=False),
        "eviction alone": replace(dali, missing=1 - cached(OURS, rows_of(effort), seed)),
        "both": joader,
    }
    whole = steps(dali, count_of(effort), seed).batch_s.mean()
    tick()
    for name, loader in parts.items():
        seconds = steps(loader, count_of(effort), seed).batch_s.mean()
        yield Row(name, 1, PAPER[name], float(whole / seconds), 1.0, "times as fast as DALI")
        tick()


FIGURE = Figure(
    name="lobster-ablation",
    source="Lobster, figure 11",
    title="What threads and eviction are worth alone",
    scale=lambda effort: f"{count_of(effort)} steps of 8 GPUs, ImageNet-1K",
    case_label="of joader",
    x_label="",
    y_label="times as fast as DALI",
    paper_label="paper (Lobster)",
    ours="simulated",
    baseline="DALI",
    varies="ours",
    rows=rows,
    steps=lambda effort: 1 + len(PAPER),
    notes=describe,
)
