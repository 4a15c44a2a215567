"""What streams save for jobs out of step: a figure of ours, with four axes and a test of the law.

Preparations per delivered row, against how far two jobs are apart, how different their speeds are,
how many jobs there are, and how much memory. The last panel says what the other ways of sharing
more cost: where the rows of a pass come in the next one, χ² over its freedom, 1 for a reshuffle.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from papers.figure import Effort, Figure, Row
from papers.runs import Tick
from papers.simulators.sharing import Reader, share, unevenness

BASELINES = {
    "independent shuffles": "independent",
    "dependent sampling": "dependent",
    "opportunistic": "opportunistic",
}
PASSES = 6
MEMORY = 0.05

Readers = Callable[[float, int], list[Reader]]  # (x, rows) -> the jobs


def offset(percent: float, rows: int) -> list[Reader]:
    """Return two equal jobs, the second this much of a pass later."""
    everything = np.arange(rows)
    return [Reader(everything), Reader(everything, start=percent / 100)]


def speeds(ratio: float, rows: int) -> list[Reader]:
    """Return two jobs, the first so many times as fast."""
    everything = np.arange(rows)
    return [Reader(everything, speed=ratio), Reader(everything, start=0.1)]


def crowd(count: float, rows: int) -> list[Reader]:
    """Return this many equal jobs that start at random within a pass."""
    starts = np.random.default_rng(3).random(int(count))
    return [Reader(np.arange(rows), start=float(start)) for start in starts]


def four(_: float, rows: int) -> list[Reader]:
    """Return four equal jobs a quarter of a pass apart."""
    return [Reader(np.arange(rows), start=quarter / 4) for quarter in range(4)]


# Panel: what is on its axis, the values, the jobs. Memory is MEMORY of the rows, but for "memory".
PANELS: Mapping[str, tuple[str, Sequence[float], Readers]] = {
    "offset": ("offset of two jobs (% of a pass)", (0, 10, 20, 30, 40, 50), offset),
    "speed": ("ratio of two speeds", (1, 1.3, 2, 4, 8), speeds),
    "jobs": ("jobs, random starts", (2, 4, 8, 16, 32), crowd),
    "memory": ("memory (% of the rows), four jobs", (0.1, 1, 5, 20, 50), four),
    "no memory": ("offset of two jobs (%), no memory", (0, 10, 20, 30, 40, 50), offset),
    "uneven": ("memory (% of the rows): a reshuffle?", (1, 5, 20), four),
}


def rows_of(effort: Effort) -> int:
    """Return how many rows the jobs have: a fifth of what the papers' figures have."""
    return max(100, min(effort.size // 5, 2_000))


def bound(panel: str, x: float) -> float | None:
    """Return the least that two equal jobs at this offset can prepare without memory."""
    return (1 + x / 100 * (1 - x / 100)) / 2 if panel == "no memory" else None


def rows(seed: int, effort: Effort, tick: Tick) -> Iterator[Row]:
    """Compute all panels; a case is a panel and a baseline."""
    size = rows_of(effort)
    for panel, (_, values, readers) in PANELS.items():
        found = {}
        for order in ("streams", *BASELINES.values()):
            for x in values:
                slots = _slots(panel, x, size)
                # One seed: over six passes of all jobs chance is less than the width of a line.
                run = share(order, readers(x, size), slots, PASSES, seed)
                uneven = panel == "uneven"
                found[order, x] = unevenness(run.passes) if uneven else run.prepared_per_delivered
                tick()
        for name, order in BASELINES.items():
            for x in values:
                yield Row(
                    case=f"{panel}: {name}",
                    x=x,
                    paper=bound(panel, x),
                    ours=found["streams", x],
                    baseline=found[order, x],
                    unit="χ² / freedom" if panel == "uneven" else "prepared / delivered",
                )


def _slots(panel: str, x: float, size: int) -> int:
    if panel == "no memory":
        return 1
    share_of = x / 100 if panel in ("memory", "uneven") else MEMORY
    return max(1, round(share_of * size))


STREAMS = Figure(
    name="streams",
    source="docs/order.md",
    title="Jobs out of step: what each order prepares per delivered row",
    scale=lambda effort: f"{rows_of(effort):,} rows, {PASSES} passes, memory for 5 % of the rows",
    case_label="panel: baseline",
    x_label="x",
    y_label="prepared / delivered",
    paper_label="bound",
    ours="streams",
    baseline="another order",
    varies="baseline",
    rows=rows,
    steps=lambda effort: 4 * sum(len(values) for _, values, _ in PANELS.values()),
    panels={panel: label for panel, (label, _, _) in PANELS.items()},
)
