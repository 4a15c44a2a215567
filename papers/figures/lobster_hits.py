"""Section 5.5 of the Lobster paper: how much of a batch is there when it is wanted.

Storage is fitted to NoPFS, and the threads that read there to DALI's 3 (lobster_node.py); PyTorch's
hits and DALI's follow. With NoPFS's threads nobody can have more hits than NoPFS: what Lobster adds
is reading by more of them. joader's pool does so by itself: its hits are those of the daemon's
engine and dispatch on such a node. What it reads while the GPU waits is not there in time.
"""

from collections.abc import Iterator

from papers.figure import Effort, Figure, Row
from papers.figures.lobster_node import (
    DALI_READING,
    LRU,
    MOST,
    PREPARING,
    READING,
    THREADS,
    cached,
    in_time,
    rows_of,
    scale,
    served,
    served_rows,
)
from papers.runs import Tick

PAPER = {"PyTorch": 24.5, "DALI": 32.6, "NoPFS": 48.9, "Lobster": 63.2}


def storage_of(effort: Effort, seed: int) -> float:
    """Return the part of a batch that the READING threads of NoPFS read in a training step."""
    return PAPER["NoPFS"] / 100 - cached(MOST, rows_of(effort), seed)


def rows(seed: int, effort: Effort, tick: Tick) -> Iterator[Row]:
    """Return percents of what is delivered; the baseline is memory alone."""
    memory = {policy: cached(policy, rows_of(effort), seed) for policy in (LRU, MOST)}
    storage = storage_of(effort, seed)
    tick()
    for case, paper, policy, threads in (
        ("PyTorch", "PyTorch", LRU, READING),
        (f"DALI, {DALI_READING} read", "DALI", LRU, DALI_READING),
        ("NoPFS (fitted)", "NoPFS", MOST, READING),
        (f"NoPFS, {DALI_READING} read", None, MOST, DALI_READING),
    ):
        yield Row(
            case=case,
            x=1,
            paper=PAPER[paper] if paper else None,
            ours=100 * in_time(memory[policy], storage * threads / READING),
            baseline=100 * memory[policy],
            unit="% there in time",
        )
    kept, use = served(storage, served_rows(effort), seed)
    tick()
    # Rows are read all the time; those that come while the GPU computes are there in time.
    ours = 100 * (kept + (1 - kept) * use)
    yield Row(f"joader, pool of {THREADS}", 1, PAPER["Lobster"], ours, 100 * kept, "% in time")


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
    steps=lambda effort: 2,
    notes=lambda effort: (
        f"{READING} threads per GPU read {100 * storage_of(effort, 0):.1f} % of a batch in a "
        "training step (seed 0), fitted to NoPFS; that PyTorch and NoPFS have "
        f"{READING} of them, to DALI's {DALI_READING}",
        f"joader: {THREADS} threads per GPU for reading and preparing, which takes "
        f"{PREPARING:.0f} of them at most; memory holds prepared rows",
    ),
)
