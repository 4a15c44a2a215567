"""Figure 1 of the locality paper: from how many nodes on learners wait for data.

Printed is that waiting is "minimal" on 2, 4 and 8 nodes and significant from 16 on. So by equation
5 R/V lies between 8 and 16; the middle is taken. This is the paper's baseline; ours is the same
machine with rows read where they are kept.
"""

from collections.abc import Iterator
from dataclasses import replace

from papers.figure import Effort, Figure, Row
from papers.figures.lassen import NODES, cluster, describe, imagenet_rates
from papers.figures.locality_model import rows_of
from papers.runs import Tick
from papers.simulators.many_nodes import Rates, one_pass

LAST_WITHOUT, FIRST_WITH = 8, 16


def rates() -> Rates:
    """Return the rates with training as Figure 1 has it."""
    machine = imagenet_rates()
    nodes = (LAST_WITHOUT * FIRST_WITH) ** 0.5
    # Loading on so many nodes takes as long as training; preparing is part of loading.
    a_row_s = 1 / machine.storage + 1 / (nodes * machine.preparing)
    return replace(machine, training=1 / (a_row_s * nodes))


def rows(seed: int, effort: Effort, tick: Tick) -> Iterator[Row]:
    """Return which part of a pass is waiting."""
    total, machine = rows_of(effort), rates()
    for nodes in NODES:
        ours, regular = (
            one_pass(loader, total, cluster(nodes), seed) for loader in ("local", "regular")
        )
        yield Row(
            case="regular loader",
            x=nodes,
            paper=0.0 if nodes <= LAST_WITHOUT else None,
            ours=100 * ours.waiting_s(machine) / ours.epoch_s(machine),
            baseline=100 * regular.waiting_s(machine) / regular.epoch_s(machine),
            unit="% of a pass",
        )
        tick()


FIGURE = Figure(
    name="locality-waiting",
    source="Locality-aware loading, figure 1",
    title="Waiting for data",
    scale=lambda effort: f"{rows_of(effort):,} rows, 4 learners per node",
    case_label="baseline",
    x_label="nodes",
    y_label="% of a pass",
    paper_label="paper: minimal",
    ours="local rows",
    baseline="regular loader",
    varies="baseline",
    rows=rows,
    steps=lambda effort: len(NODES),
    log="x",
    notes=lambda effort: (
        describe(rates()),
        f"training {rates().training:,.0f} rows/s per node: regular loading is hidden up to "
        f"{(LAST_WITHOUT * FIRST_WITH) ** 0.5:.1f} nodes, between 8 and 16 as the paper says",
    ),
)
