"""Figure 5 of the A-Dloader paper: rows per second against workers, in three stages.

The paper prints no rates, only where its stages end (11 and 24 workers on 24 threads); its curve is
the one that two of its baselines say (adloader_machine.py). Ours is measured (adloader_runs.py). So
that machines can be compared, workers are counted per processor, and rates in those of one worker.
"""

from collections.abc import Iterator, Sequence

from papers.figure import Effort, Figure, Row
from papers.figures.adloader_machine import CONTENTION_FROM, CONTENTION_TO, loading
from papers.figures.adloader_runs import LOADING, PROCESSORS
from papers.models import loading_rate
from papers.models.accuracy import accuracy
from papers.runs import Tick

THREADS = 24  # of the paper's machine


def rows(seed: int, effort: Effort, tick: Tick) -> Iterator[Row]:
    """Compare what was measured with the paper's curve and with our three stages."""
    model = loading_rate.fit(LOADING)
    alone = _mean(1)
    for workers in sorted({run.workers for run in LOADING}):
        paper = loading(workers * THREADS / PROCESSORS) / loading(THREADS / PROCESSORS)
        yield Row(
            case="measured",
            x=workers / PROCESSORS,
            paper=paper,
            ours=_mean(workers) / alone,
            baseline=model.rows_per_s(workers) / alone,
            unit="times the rows/s of one worker",
        )
        tick()


def _mean(workers: int) -> float:
    found = [run.rows_per_s for run in LOADING if run.workers == workers]
    return float(sum(found) / len(found))


def notes(effort: Effort) -> Sequence[str]:
    """Say where the stages end, and what the model is worth."""
    model = loading_rate.fit(LOADING)
    ends = [f"{stage.name} up to {stage.most_workers}" for stage in model.stages]
    worth = accuracy(
        [model.rows_per_s(run.workers) for run in LOADING], [run.rows_per_s for run in LOADING]
    )
    return (
        "the paper prints where its stages end and no rates: these are those of two baselines",
        f"ours on {PROCESSORS} processors: {', '.join(ends)} workers; the paper on {THREADS}: free "
        f"up to {CONTENTION_FROM}, contended up to {CONTENTION_TO}",
        f"three stages on what they were fitted to: R² {worth.r_squared:.3f}, median error "
        f"{worth.median_error:.1%}",
    )


FIGURE = Figure(
    name="adloader-fig5",
    source="A-Dloader, Fig. 5",
    title="Rows per second against workers",
    scale=lambda effort: f"{len(LOADING)} runs on {PROCESSORS} processors, measured once",
    case_label="",
    x_label="workers per processor",
    y_label="times one worker's rows/s",
    paper_label="derived from the paper",
    ours="measured",
    baseline="three stages, fitted",
    varies="ours",
    rows=rows,
    steps=lambda effort: len({run.workers for run in LOADING}),
    notes=notes,
)
