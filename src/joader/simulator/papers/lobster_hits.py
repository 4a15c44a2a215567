"""Section 5.5 of the Lobster paper: how much of a batch is there when it is wanted.

Storage is fitted to NoPFS. PyTorch is then predicted. DALI is as PyTorch here: the paper does not
say what makes it better. With NoPFS's storage rate nobody can have more hits than NoPFS: what
Lobster adds is reading faster, by threads. How much faster is not printed; the last case says how
much it has to be for its 63.2 %.
"""

from collections.abc import Iterator

from joader.simulator.figures import Effort, Figure, Row
from joader.simulator.papers.lobster_node import (
    LRU,
    MOST,
    OURS,
    THREADS_GAIN,
    cached,
    in_time,
    rows_of,
    scale,
)
from joader.simulator.runs import Tick

PAPER = {"PyTorch": 24.5, "DALI": 32.6, "NoPFS": 48.9, "Lobster": 63.2}


def rows(seed: int, effort: Effort, tick: Tick) -> Iterator[Row]:
    """Return percents of what is delivered; the baseline is memory alone."""
    memory = {policy: cached(policy, rows_of(effort), seed) for policy in (LRU, MOST, OURS)}
    tick()
    storage = PAPER["NoPFS"] / 100 - memory[MOST]
    needed = (PAPER["Lobster"] / 100 - memory[OURS]) / storage
    for case, paper, policy, gain in (
        ("PyTorch", "PyTorch", LRU, 1.0),
        ("DALI", "DALI", LRU, 1.0),
        ("NoPFS (fitted)", "NoPFS", MOST, 1.0),
        ("joader", "Lobster", OURS, 1.0),
        (f"reads {THREADS_GAIN:.1f}x", "Lobster", OURS, THREADS_GAIN),
        (f"reads {needed:.2f}x", "Lobster", OURS, needed),
    ):
        yield Row(
            case=case,
            x=1,
            paper=PAPER[paper],
            ours=100 * in_time(memory[policy], gain * storage),
            baseline=100 * memory[policy],
            unit="% there in time",
        )


FIGURE = Figure(
    name="lobster-hits",
    source="Lobster, section 5.5",
    title="What is there when it is wanted",
    scale=scale,
    case_label="loader",
    x_label="",
    y_label="% of a batch",
    ours="engine + storage",
    baseline="memory alone",
    varies="ours",
    rows=rows,
    steps=lambda effort: 1,
    notes=lambda effort: (
        f"storage delivers {48.9 - 100 * cached(MOST, rows_of(effort), 0):.1f} % of a batch in a "
        "training step (seed 0), fitted to NoPFS",
    ),
)
