"""Figure 7b of the JOADER paper: CPU use of two jobs against what their datasets have in common.

Printed: 60 % of the CPU use of disjoint datasets if they are the same, 10 % less if half is common.
"""

from collections.abc import Iterator

from papers.figure import Effort, Figure, Row
from papers.figures.joader_counts import prepared_parts, rows_of, scale
from papers.figures.joader_fig5 import cpu_use
from papers.figures.titan_server import describe
from papers.runs import Tick

OVERLAPS = (0.0, 0.25, 0.5, 0.75, 1.0)
PAPER = {0.0: 100.0, 0.5: 90.0, 1.0: 60.0}


def rows(seed: int, effort: Effort, tick: Tick) -> Iterator[Row]:
    """Return CPU use, in percent of that of disjoint datasets."""
    disjoint = cpu_use((1.0, 1.0))
    for overlap in OVERLAPS:
        parts = prepared_parts("dependent", (1.0, 1.0), (0.0, 0.0), overlap, rows_of(effort), seed)
        yield Row(
            case="PyTorch",
            x=100 * overlap,
            paper=PAPER.get(overlap),
            ours=100 * cpu_use(parts) / disjoint,
            baseline=100.0,
            unit="% of disjoint datasets",
        )
        tick()


FIGURE = Figure(
    name="joader-fig7b",
    source="JOADER, figure 7b",
    title="CPU use of two jobs that have rows in common",
    scale=scale,
    case_label="baseline",
    x_label="% of the rows in common",
    y_label="% of disjoint datasets",
    ours="joader",
    baseline="PyTorch",
    varies="baseline",
    rows=rows,
    steps=lambda effort: len(OVERLAPS),
    notes=describe,
)
