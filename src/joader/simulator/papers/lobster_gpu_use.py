"""Figure 10 and Figure 7 of the Lobster paper: GPU use, and speed beside PyTorch, on one node.

Storage is fitted to PyTorch's GPU use; all else is predicted. DALI is as PyTorch here. joader and
NoPFS keep the same rows, so they are alike at the same storage rate; Lobster's threads read faster.
"""

from collections.abc import Iterator

from joader.simulator.figures import Effort, Figure, Row
from joader.simulator.papers.lobster_node import (
    LRU,
    MOST,
    OURS,
    THREADS_GAIN,
    cached,
    gpu_use,
    rows_of,
    scale,
)
from joader.simulator.runs import Tick

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
    memory = {policy: cached(policy, rows_of(effort), seed) for policy in (LRU, MOST, OURS)}
    tick()
    storage = PAPER["PyTorch"][0] / 100 * (1 - memory[LRU])
    least = gpu_use(memory[LRU], storage)
    for place, (panel, unit) in enumerate(PANELS.items()):
        for case, paper, policy, gain in (
            ("PyTorch (fitted)", "PyTorch", LRU, 1.0),
            ("DALI", "DALI", LRU, 1.0),
            ("NoPFS", "NoPFS", MOST, 1.0),
            ("joader", "Lobster", OURS, 1.0),
            (f"reads {THREADS_GAIN:.1f}x", "Lobster", OURS, THREADS_GAIN),
        ):
            use = gpu_use(memory[policy], gain * storage)
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
    ours="engine + storage",
    baseline="PyTorch",
    varies="ours",
    rows=rows,
    steps=lambda effort: 1,
    panels=dict.fromkeys(PANELS, ""),
    notes=lambda effort: (
        f"storage delivers {52.3 * (1 - cached(LRU, rows_of(effort), 0)):.1f} % of a batch in a "
        "training step (seed 0), fitted to PyTorch's GPU use",
    ),
)
