"""Equations 1 to 8 of the locality paper against the simulation.

The equations are averages. The simulation knows which node has to wait for which rows, so it is
above them by what chance makes uneven, and most where a node has few rows.
"""

from collections.abc import Iterator, Mapping

from papers.figure import Effort, Figure, Row
from papers.figures.lassen import IMAGENET, NODES, cluster, describe, imagenet_rates
from papers.runs import Tick
from papers.simulators.many_nodes import Loader, Pass, Rates, one_pass

CASES: Mapping[str, Loader] = {
    "regular (4)": "regular",
    "distributed caching (7)": "cached",
    "locality-aware (8)": "local",
}


def rows_of(effort: Effort) -> int:
    """Return how many rows there are: ImageNet's at full effort."""
    return IMAGENET.rows * effort.size // 10_000


def training_s(rows: int, nodes: int, rates: Rates) -> float:
    """Return equation 1: D / (p·V)."""
    return rows / (nodes * rates.training)


def loading_s(loader: Loader, rows: int, nodes: int, rates: Rates, moved: float) -> float:
    """Return equation 4 with the I/O time of equation 2, 7 or 8, all rows cached (α = 1).

    R_c is what all nodes receive together: p times the rate of a link.
    """
    preparing = rows / (nodes * rates.preparing)  # (3)
    if loader == "regular":
        return rows / rates.storage + preparing  # (2) + (3)
    share = (nodes - 1) / nodes if loader == "cached" else moved  # β is what balancing moves
    return rows / (nodes * rates.link) * share + preparing


def most_nodes_without_waiting(rates: Rates) -> float:
    """Return equation 5: training hides loading up to p = R/V; (6) is the larger of the two."""
    return rates.storage / rates.training


def rows(seed: int, effort: Effort, tick: Tick) -> Iterator[Row]:
    """Compare seconds per pass; what balancing moves is taken from the simulation."""
    total, rates = rows_of(effort), imagenet_rates()
    for case, loader in CASES.items():
        for nodes in NODES:
            found: Pass = one_pass(loader, total, cluster(nodes), seed)
            yield Row(
                case=case,
                x=nodes,
                paper=loading_s(loader, total, nodes, rates, found.moved),
                ours=found.loading_s(rates),
                baseline=None,
                unit="s per pass",
            )
            tick()


FIGURE = Figure(
    name="locality-model",
    source="Locality-aware loading, equations 1 to 8",
    title="The paper's model and the simulation",
    scale=lambda effort: f"{rows_of(effort):,} rows",
    case_label="loader (equation)",
    x_label="nodes",
    y_label="loading, s per pass",
    paper_label="equation",
    ours="simulated",
    baseline="none",
    varies="ours",
    rows=rows,
    steps=lambda effort: len(CASES) * len(NODES),
    log="xy",
    notes=lambda effort: (describe(imagenet_rates()),),
)
