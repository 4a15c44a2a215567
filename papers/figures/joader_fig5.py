"""Figure 5 of the JOADER paper: CPU use of 1 to 6 equal ResNet18 jobs.

The text gives one number: "over 40% less CPU utilization" with 6 jobs.
"""

from collections.abc import Iterator

from papers.figure import Effort, Figure, Row
from papers.figures.joader_counts import in_step, scale
from papers.figures.titan_server import JOBS, describe, fitted
from papers.runs import Tick


def cpu_use(parts: tuple[float, ...]) -> float:
    """Return the CPU use of equal jobs that prepare these parts, in percent."""
    server = fitted()
    load = sum(server.cpu_min(part) for part in parts) / server.gpu_min
    return 100 * load / server.slowdown(load)


def rows(seed: int, effort: Effort, tick: Tick) -> Iterator[Row]:
    """Return percents; the paper's is 60 % of its baseline with 6 jobs, as simulated here."""
    for jobs in JOBS:
        baseline = cpu_use((1.0,) * jobs)
        yield Row(
            case="PyTorch",
            x=jobs,
            paper=0.6 * baseline if jobs == JOBS[-1] else None,
            ours=cpu_use(in_step("dependent", jobs, effort, seed)),
            baseline=baseline,
            unit="% of all cores",
        )
        tick()


FIGURE = Figure(
    name="joader-fig5",
    source="JOADER, figure 5",
    title="CPU use of equal ResNet18 jobs",
    scale=scale,
    case_label="baseline",
    x_label="jobs",
    y_label="% of all cores",
    paper_label="paper: 40 % less",
    ours="joader",
    baseline="PyTorch",
    varies="baseline",
    rows=rows,
    steps=lambda effort: len(JOBS),
    notes=describe,
)
