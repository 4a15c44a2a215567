"""Figure 3 of the Lobster paper: why GPUs wait, step by step, on eight nodes.

DALI, ImageNet-1K. Shown are two GPUs of one node and one of another, eight steps each of the
beginning, the middle and the end. The threshold at which a step counts as imbalanced is not
printed: it is fitted to DALI's 65.3 %, the only number of the figure. With joader eight nodes hold
all rows, and train on those that they have: nothing is read from storage.
"""

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from papers.figure import Effort, Figure, Row
from papers.figures.lobster_steps import (
    GPUS,
    IMAGENET_1K,
    Steps,
    count_of,
    describe,
    loaders,
    steps,
)
from papers.runs import Tick

NODES, SHOWN = 8, 8
PLACES = {"node 1, GPU 0": 0, "node 1, GPU 1": 1, "node 2, GPU 1": GPUS + 1}
IMBALANCED = 65.3


def shown_steps(count: int) -> list[int]:
    """Return the steps that are shown: of the beginning, the middle and the end."""
    return [
        start + number
        for start in (0, (count - SHOWN) // 2, count - SHOWN)
        for number in range(SHOWN)
    ]


@lru_cache(maxsize=2)
def both(effort: Effort, seed: int) -> dict[str, Steps]:
    """Return the steps of DALI and of joader."""
    found = loaders(effort, seed, IMAGENET_1K, NODES)
    count = max(30, count_of(effort) // 4)
    return {name: steps(found[name], count, seed, NODES) for name in ("DALI", "joader")}


def rows(seed: int, effort: Effort, tick: Tick) -> Iterator[Row]:
    """Return for each GPU when its own data are there, and when all go on."""
    found = both(effort, seed)
    tick()
    ours, dali = found["joader"], found["DALI"]
    for place, gpu in PLACES.items():
        for number, step in enumerate(shown_steps(len(dali.batch_s)), 1):
            yield Row(
                *(f"{place}: its batch loads", number, None),
                *(float(ours.loading_s[step, gpu]), float(dali.loading_s[step, gpu])),
                "training steps",
            )
        for number, step in enumerate(shown_steps(len(dali.batch_s)), 1):
            yield Row(
                *(f"{place}: step of all GPUs", number, None),
                *(float(ours.batch_s[step]), float(dali.batch_s[step])),
                "training steps",
            )
    late = {name: one.late_s.max(1) for name, one in found.items()}
    threshold = np.quantile(late["DALI"], 1 - IMBALANCED / 100)
    for name, label in (("DALI", "DALI (fitted)"), ("joader", "joader")):
        yield Row(
            case=f"imbalanced: {label}",
            x=1,
            paper=IMBALANCED if name == "DALI" else None,
            ours=float(100 * (late[name] > threshold).mean()),
            baseline=float(100 * (late["DALI"] > threshold).mean()),
            unit="% of steps",
        )


def notes(effort: Effort) -> tuple[str, ...]:
    """Say how long GPUs wait for others, and what was fitted."""
    found = both(effort, 0)
    idle = ", ".join(
        f"{name} {100 * one.idle_s.mean() / one.batch_s.mean():.0f} %"
        for name, one in found.items()
    )
    return (f"GPUs wait for other GPUs, of the time, seed 0: {idle}", *describe(effort))


FIGURE = Figure(
    name="lobster-breakdown",
    source="Lobster, figure 3",
    title="Steps of eight nodes: loading on three GPUs, and the step of all",
    scale=lambda effort: f"24 of {max(30, count_of(effort) // 4)} steps of 64 GPUs, ImageNet-1K",
    case_label="where: what",
    x_label="step",
    y_label="training steps",
    ours="joader",
    baseline="DALI",
    varies="sets",
    rows=rows,
    steps=lambda effort: 1,
    panels={**{place: f"{place}: step" for place in PLACES}, "imbalanced": ""},
    notes=notes,
)
