"""Figures 8 to 11 of the locality paper: loading on 2 to 256 nodes of four learners.

For ImageNet storage is fitted to the regular loader (lassen.py). For the others the paper gives
nothing but how many times faster the local loader is: the ratio of preparing to storage is fitted
to the smallest scale, and the others are predicted.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from papers.figure import Effort, Figure, Row
from papers.figures.lassen import (
    IMAGENET,
    LEARNER_ROWS_PER_S,
    LEARNERS,
    MUMMI,
    NODES,
    UCF_FLOW,
    UCF_RGB,
    Dataset,
    cluster,
    describe,
    imagenet_rates,
    rates_from_speedup,
)
from papers.runs import Tick
from papers.simulators.many_nodes import Rates, one_pass

PREPARING = LEARNERS * LEARNER_ROWS_PER_S  # only its ratio to storage matters for speedups


@dataclass(frozen=True)
class Case:
    """A dataset, its rates, the nodes of its figure, and how many times faster the paper says."""

    dataset: Dataset
    rates: Rates
    nodes: tuple[int, ...]
    paper: dict[int, float]
    fitted: bool  # to the first of the paper's own values

    def rows(self, effort: Effort) -> int:
        """Return how many rows: ImageNet's at most, since only ratios of times are compared."""
        return min(self.dataset.rows, IMAGENET.rows) * effort.size // 10_000


CASES = (
    Case(IMAGENET, imagenet_rates(), NODES, {256: 34}, False),
    Case(UCF_RGB, rates_from_speedup(UCF_RGB, 2, 2.8, PREPARING), NODES, {2: 2.8, 256: 55.5}, True),
    Case(
        UCF_FLOW, rates_from_speedup(UCF_FLOW, 2, 2.2, PREPARING), NODES, {2: 2.2, 256: 60.6}, True
    ),
    Case(
        MUMMI,
        rates_from_speedup(MUMMI, 16, 18, PREPARING),
        (16, 32, 64, 128),
        {16: 18, 32: 35, 64: 70, 128: 120},
        True,
    ),
)


def rows(seed: int, effort: Effort, tick: Tick) -> Iterator[Row]:
    """Return how many times faster than the regular loader; the baseline only caches."""
    for case in CASES:
        total = case.rows(effort)
        for nodes in case.nodes:
            seconds = {
                loader: one_pass(loader, total, cluster(nodes), seed).loading_s(case.rates)
                for loader in ("regular", "cached", "local")
            }
            yield Row(
                case=f"{case.dataset.name}: distributed caching",
                x=nodes,
                paper=case.paper.get(nodes),
                ours=seconds["regular"] / seconds["local"],
                baseline=seconds["regular"] / seconds["cached"],
                unit="times faster",
            )
            tick()


def notes(effort: Effort) -> tuple[str, ...]:
    """Say what was fitted to what."""
    return tuple(
        f"{case.dataset.name}: {describe(case.rates)}; storage fitted to "
        + (
            f"the paper's {next(iter(case.paper.values()))}x"
            if case.fitted
            else "the regular loader"
        )
        for case in CASES
    )


FIGURE = Figure(
    name="locality-scaling",
    source="Locality-aware loading, figures 8 to 11",
    title="Loading on many nodes, times faster than the regular loader",
    scale=lambda effort: f"{CASES[0].rows(effort):,} rows, 4 learners per node",
    case_label="dataset: baseline",
    x_label="nodes",
    y_label="times faster",
    ours="local rows",
    baseline="distributed caching",
    varies="baseline",
    rows=rows,
    steps=lambda effort: sum(len(case.nodes) for case in CASES),
    panels={case.dataset.name: f"{case.dataset.name}: nodes" for case in CASES},
    log="xy",
    notes=notes,
)
