"""Table 1 of the JOADER paper: minutes per epoch of 1 to 6 equal ResNet18 jobs.

The columns of PyTorch and CoorDL fit the server; JOADER's is predicted.
"""

from collections.abc import Iterator

from papers.figure import Effort, Figure, Row
from papers.figures.joader_counts import in_step, scale
from papers.figures.titan_server import COORDL, JOADER, JOBS, PYTORCH, describe, fitted
from papers.runs import Tick


def epoch_min(parts: tuple[float, ...]) -> float:
    """Return the minutes of an epoch of equal jobs that prepare these parts."""
    server = fitted()
    load = sum(server.cpu_min(part) for part in parts) / server.gpu_min
    return server.gpu_min * server.slowdown(load)


def rows(seed: int, effort: Effort, tick: Tick) -> Iterator[Row]:
    """Return minutes; a case is a loader of the paper, ours what joader does there."""
    for case, paper, sampler in (
        ("JOADER", JOADER, "dependent"),
        ("CoorDL (fitted)", COORDL, "lockstep"),
        ("PyTorch (fitted)", PYTORCH, None),
    ):
        for jobs, minutes in zip(JOBS, paper, strict=True):
            parts = in_step(sampler, jobs, effort, seed) if sampler else (1.0,) * jobs
            yield Row(
                case=case,
                x=jobs,
                paper=minutes,
                ours=epoch_min(parts),
                baseline=epoch_min((1.0,) * jobs),
                unit="minutes per epoch",
            )
            tick()


FIGURE = Figure(
    name="joader-table1",
    source="JOADER, table 1",
    title="Equal ResNet18 jobs on one server",
    scale=scale,
    case_label="loader",
    x_label="jobs",
    y_label="minutes per epoch",
    ours="engine + server",
    baseline="PyTorch, simulated",
    varies="ours",
    rows=rows,
    steps=lambda effort: 3 * len(JOBS),
    notes=describe,
)
