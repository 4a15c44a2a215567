"""Section IV-D of the A-Dloader paper: what modeling contention is worth.

A model without contention gives two jobs 6 and 4 workers, and 1,391 images per second come of it;
with contention in the model they get all 18, and 1,654. The first fits the curve, with the even
split of Figure 3 (adloader_machine.py); the second is predicted. joader has no such model to get
wrong: what a row costs is measured in the pool as it runs, contention included.
"""

from collections.abc import Iterator

from joader.schedule.policies import Need
from joader.schedule.policies.throughput import whole_units
from joader.simulator.figures import Effort, Figure, Row
from joader.simulator.papers.adloader_machine import (
    TEN_WORKERS,
    WORKERS,
    describe,
    loading,
)
from joader.simulator.runs import Tick

PAPER = {"ignored": 1391.0, "modeled": 1654.0}
# Resnet32 and VGG16: 6 and 4 workers at the rate of a worker that has the machine to itself. The
# paper reaches 1,654 images per second, so they can train on that many: 165 per such worker.
FREE_DEMANDS = (6, 4)
TRAINING = PAPER["modeled"]


def demands(row_s: float) -> tuple[float, ...]:
    """Return the workers that the jobs ask for if a row takes a worker this long."""
    total = sum(FREE_DEMANDS)
    return tuple(TRAINING * part / total * row_s for part in FREE_DEMANDS)


def images_per_s(row_s: float) -> tuple[float, int]:
    """Return what comes of an allocation by this cost of a row, and the workers it gives."""
    needs = [Need(demand=demand, row_s=row_s) for demand in demands(row_s)]
    workers = sum(whole_units(needs, WORKERS))
    return min(TRAINING, loading(workers)), workers


def rows(seed: int, effort: Effort, tick: Tick) -> Iterator[Row]:
    """Allocate by the cost of a row on a machine of its own, and by that on a full one."""
    free_s = sum(FREE_DEMANDS) / TRAINING
    full_s = WORKERS / loading(WORKERS)
    for case, row_s in (("ignored", free_s), ("modeled", full_s)):
        found, _ = images_per_s(row_s)
        yield Row(f"contention {case}", WORKERS, PAPER[case], found, TEN_WORKERS, "images/s")
        tick()


FIGURE = Figure(
    name="adloader-contention",
    source="A-Dloader, section IV-D",
    title="Two jobs, with and without contention in the model",
    scale=lambda effort: "18 workers, allocated by joader's throughput policy",
    case_label="model",
    x_label="workers",
    y_label="images/s",
    ours="simulated",
    baseline="10 workers (fitted)",
    varies="ours",
    rows=rows,
    steps=lambda effort: 2,
    notes=describe,
)
