"""Figure 10 and Figure 7 of the Lobster paper: GPU use, and speed beside PyTorch, on one node.

Storage is fitted to PyTorch's GPU use; all else is predicted, with the threads of lobster_node.py.
NoPFS follows. DALI does not: its 3 threads, which explain its hits, should give it 1.5 times
PyTorch's speed; the paper has 1.10 times its GPU use and 0.94 times its speed. joader is served by
the daemon's engine and dispatch; nothing but reading and preparing keeps its GPU from computing.
"""

from collections.abc import Iterator

from papers.figure import Effort, Figure, Row
from papers.figures.lobster_node import (
    DALI_READING,
    LRU,
    MOST,
    READING,
    THREADS,
    cached,
    gpu_use,
    rows_of,
    scale,
    served,
    served_rows,
)
from papers.runs import Tick

# GPU use, and times faster than PyTorch: Lobster is 1.6x PyTorch, 1.7x DALI and 1.2x NoPFS.
PAPER = {
    "PyTorch": (52.3, 1.0),
    "DALI": (57.5, 1.6 / 1.7),
    "NoPFS": (72.4, 1.6 / 1.2),
    "Lobster": (76.1, 1.6),
}
PANELS = {"GPU use": "% of the time", "speed": "times as fast as PyTorch"}


def rows(seed: int, effort: Effort, tick: Tick) -> Iterator[Row]:
    """Return two panels of bars."""
    memory = {policy: cached(policy, rows_of(effort), seed) for policy in (LRU, MOST)}
    storage = PAPER["PyTorch"][0] / 100 * (1 - memory[LRU])
    tick()
    _, ours = served(storage, served_rows(effort), seed)
    tick()
    uses = {
        "PyTorch": ("PyTorch (fitted)", gpu_use(memory[LRU], storage)),
        "DALI": (
            f"DALI, {DALI_READING} read",
            gpu_use(memory[LRU], storage * DALI_READING / READING),
        ),
        "NoPFS": ("NoPFS", gpu_use(memory[MOST], storage)),
        "Lobster": (f"joader, pool of {THREADS}", ours),
    }
    least = uses["PyTorch"][1]
    for place, (panel, unit) in enumerate(PANELS.items()):
        for paper, (case, use) in uses.items():
            yield Row(
                case=f"{panel}: {case}",
                x=1,
                paper=PAPER[paper][place],
                ours=(100 * use, use / least)[place],
                baseline=(100 * least, 1.0)[place],
                unit=unit,
            )


FIGURE = Figure(
    name="lobster-gpu-use",
    source="Lobster, figures 10 and 7",
    title="GPU use and speed on one node",
    scale=scale,
    case_label="what: loader",
    x_label="",
    y_label="%",
    paper_label="paper or derived",
    ours="engine + storage",
    baseline="PyTorch",
    varies="ours",
    rows=rows,
    steps=lambda effort: 2,
    panels=dict.fromkeys(PANELS, ""),
    notes=lambda effort: (
        f"storage delivers {52.3 * (1 - cached(LRU, rows_of(effort), 0)):.1f} % of a batch in a "
        "training step (seed 0), fitted to PyTorch's GPU use",
        "derived, not printed: speeds of DALI (1.6 / 1.7) and NoPFS (1.6 / 1.2)",
    ),
)
