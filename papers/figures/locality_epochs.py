"""Figure 12 of the locality paper: ResNet50 epochs on 16, 32 and 64 nodes.

Printed for the regular loader: training dominates at 16 nodes, loading at 32 and 64. So R/V lies
between 16 and 32, and both ends are shown. The paper's 1.9x at 64 nodes needs 64/1.9 = 33.7, just
outside: at 32 nodes loading and training took about as long.
"""

from collections.abc import Iterator
from dataclasses import replace

from papers.figure import Effort, Figure, Row
from papers.figures.lassen import cluster, describe, imagenet_rates
from papers.figures.locality_model import rows_of
from papers.runs import Tick
from papers.simulators.many_nodes import Rates, one_pass

NODES = (16, 32, 64)
ENDS = (32, 16)
PAPER = {16: 1.0, 64: 1.9}


def rates(nodes: int) -> Rates:
    """Return rates under which regular loading takes as long as training on so many nodes."""
    machine = imagenet_rates()
    a_row_s = 1 / machine.storage + 1 / (nodes * machine.preparing)
    return replace(machine, training=1 / (a_row_s * nodes))


def rows(seed: int, effort: Effort, tick: Tick) -> Iterator[Row]:
    """Return how many times faster an epoch is than with the regular loader."""
    total = rows_of(effort)
    for end in ENDS:
        machine = rates(end)
        for nodes in NODES:
            seconds = {
                loader: one_pass(loader, total, cluster(nodes), seed).epoch_s(machine)
                for loader in ("regular", "cached", "local")
            }
            yield Row(
                case=f"even at {end}",
                x=nodes,
                paper=PAPER.get(nodes),
                ours=seconds["regular"] / seconds["local"],
                baseline=seconds["regular"] / seconds["cached"],
                unit="times faster",
            )
            tick()


FIGURE = Figure(
    name="locality-epochs",
    source="Locality-aware loading, figure 12",
    title="ResNet50 epochs, times faster than with the regular loader",
    scale=lambda effort: f"{rows_of(effort):,} rows",
    case_label="regular loader",
    x_label="nodes",
    y_label="times faster",
    ours="local rows",
    baseline="distributed caching",
    varies="sets",
    rows=rows,
    steps=lambda effort: len(ENDS) * len(NODES),
    notes=lambda effort: tuple(
        f"loading = training at {end} nodes: {describe(rates(end))}, training "
        f"{rates(end).training:,.0f}"
        for end in ENDS
    ),
)
