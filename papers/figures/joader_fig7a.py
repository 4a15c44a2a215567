"""Figure 7a of the JOADER paper: four ResNet18 jobs that arrive at different moments.

When they arrive is not printed; here they come a quarter of an epoch apart, or less. Printed is
that JOADER takes 17.1 % less time and 8.7 % less CPU use than PyTorch.
"""

from collections.abc import Iterator

from papers.figure import Effort, Figure, Row
from papers.figures.joader_counts import prepared_parts, rows_of, scale
from papers.figures.titan_server import (
    Trainer,
    describe,
    fitted,
    lifetimes,
    mean_use,
    stretches,
)
from papers.runs import Tick

APART = (0.0, 0.1, 0.25, 0.5)  # epochs between two arrivals
JOBS, EPOCHS = 4, 2
PAPER = {"time": 100 - 17.1, "CPU": 100 - 8.7}
ORDERS = {"joint": "dependent", "shared": "streams"}


def time_and_use(parts: tuple[float, ...], apart: float) -> tuple[float, float]:
    """Return the mean minutes of a job, and the mean CPU use."""
    server = fitted()
    jobs = [
        Trainer(server.gpu_min, server.cpu_min(part), number * apart * server.gpu_min, EPOCHS)
        for number, part in enumerate(parts)
    ]
    found = list(stretches(server, jobs))
    return sum(lifetimes(jobs, found)) / len(jobs), mean_use(found)


def rows(seed: int, effort: Effort, tick: Tick) -> Iterator[Row]:
    """Return percents of PyTorch's; the paper's values are drawn at every distance."""
    found: dict[tuple[str, float], tuple[list[float], list[float]]] = {}
    for order, sampler in ORDERS.items():
        for apart in APART:
            starts = tuple(number * apart for number in range(JOBS))
            parts = prepared_parts(
                sampler,
                (1.0,) * JOBS,
                starts,
                overlap=1.0,
                rows=rows_of(effort),
                seed=seed,
                epochs=EPOCHS,
            )
            ours, alone = time_and_use(parts, apart), time_and_use((1.0,) * JOBS, apart)
            found[order, apart] = [*ours], [*alone]
            tick()
    for place, what in enumerate(PAPER):
        for (order, apart), (ours_of, alone_of) in found.items():
            yield Row(
                case=f"{what}: order {order}",
                x=100 * apart,
                paper=PAPER[what],
                ours=100 * ours_of[place] / alone_of[place],
                baseline=100.0,
                unit=f"{what}, % of PyTorch's",
            )


FIGURE = Figure(
    name="joader-fig7a",
    source="JOADER, figure 7a",
    title="Four ResNet18 jobs that arrive one after the other",
    scale=scale,
    case_label="joader",
    x_label="% of an epoch between arrivals",
    y_label="% of PyTorch's",
    ours="joader",
    baseline="PyTorch",
    varies="ours",
    rows=rows,
    steps=lambda effort: len(ORDERS) * len(APART),
    panels=dict.fromkeys(PAPER, "% of an epoch between arrivals"),
    notes=describe,
)
