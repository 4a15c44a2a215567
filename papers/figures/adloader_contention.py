"""Section IV-D of the A-Dloader paper: what modeling contention is worth.

A model without contention gives two jobs 6 and 4 workers, and 1,391 images per second come of it;
with contention in the model they get 8 and 10, and 1,654. The first fits the curve, with the even
split of Figure 3 (adloader_machine.py); the second is predicted: a worker of a full machine loads
less than one that has it to itself, so the jobs need more of them. Which one of the two jobs needs
more is not what the paper says: both demands grow alike here. joader has no such model to get
wrong: what a row costs is measured in the pool as it runs, contention included.
"""

from collections.abc import Iterator

from joader.schedule.shares.policies import Need
from joader.schedule.shares.policies.throughput import whole_units
from papers.figure import Effort, Figure, Row
from papers.figures.adloader_machine import (
    TEN_WORKERS,
    WORKERS,
    describe,
    loading,
)
from papers.runs import Tick

PAPER = {"ignored": 1391.0, "modeled": 1654.0}
FREE_DEMANDS = (6, 4)  # workers of Resnet32 and VGG16, if each loads as on a machine of its own


def workers_given(times: float) -> int:
    """Return the workers of an allocation if rows take a worker so many times as long."""
    needs = [Need(demand=demand * times, row_s=times) for demand in FREE_DEMANDS]
    return sum(whole_units(needs, WORKERS))


def rows(seed: int, effort: Effort, tick: Tick) -> Iterator[Row]:
    """Allocate by the cost of a row on a machine of its own, and by that on a full one."""
    slower = loading(1) / (loading(WORKERS) / WORKERS)
    for case, times in (("ignored", 1.0), ("modeled", slower)):
        found = loading(workers_given(times))
        yield Row(f"contention {case}", WORKERS, PAPER[case], found, TEN_WORKERS, "images/s")
        tick()


FIGURE = Figure(
    name="adloader-contention",
    source="A-Dloader, section IV-D",
    title="Two jobs, with and without contention in the model",
    scale=lambda effort: "18 workers, allocated by joader's throughput policy",
    case_label="model",
    x_label="",
    y_label="images/s",
    ours="simulated",
    baseline="10 workers (fitted)",
    varies="ours",
    rows=rows,
    steps=lambda effort: 2,
    notes=describe,
)
