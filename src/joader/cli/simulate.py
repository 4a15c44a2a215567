"""`joader simulate WORKLOAD`: who would get what when, by the code that runs in the daemon.

A timeline of shares: what each job had of the workers' time, policy by policy.
"""

import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Protocol

from rich.table import Table

from joader.cli.console import Console, write
from joader.cli.files import check_writable, save_figure, write_text
from joader.cli.plot import COLOURS, check_plot_path, pyplot
from joader.cli.words import counted
from joader.errors import BadArgument
from joader.schedule.shares.policies import policy_of
from joader.simulator.machine.drawn import drawn
from joader.simulator.machine.play import Outcome, play
from joader.simulator.machine.workload import Workload, parsed


class Glanced(Protocol):
    """What is drawn of one moment."""

    @property
    def at_s(self) -> float:
        """When it was."""
        ...

    @property
    def used(self) -> dict[str, float]:
        """What workers computed for each job, in worker-seconds per second."""
        ...

    @property
    def per_s(self) -> dict[str, float]:
        """Samples per second of each job."""
        ...


class Timeline(Protocol):
    """What is drawn side by side."""

    @property
    def policy(self) -> str:
        """Under which policy it was."""
        ...

    @property
    def glances(self) -> Sequence[Glanced]:
        """The moments in order."""
        ...


def draw_timeline(outcomes: Sequence[Timeline], cores: float, path: str) -> None:
    """Draw one panel for each policy, with the same colors for the same jobs."""
    plt = pyplot()
    names = sorted({name for one in outcomes for glance in one.glances for name in glance.used})
    colors = {name: COLOURS[place % len(COLOURS)] for place, name in enumerate(names)}
    with plt.rc_context({"font.size": 9, "svg.fonttype": "none", "svg.hashsalt": "timeline"}):
        size = (3.4 * len(outcomes) + 1.4, 3.2)
        canvas, grid = plt.subplots(
            1, len(outcomes), figsize=size, layout="constrained", squeeze=False, sharey=True
        )
        for axes, outcome in zip(grid.flat, outcomes, strict=True):
            _panel(axes, outcome, names, colors, cores)
        grid.flat[0].set_ylabel("workers computing for the job")
        grid.flat[-1].legend(
            frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0), reverse=True
        )
        try:
            save_figure(canvas, path)
        finally:
            plt.close(canvas)


def _panel(
    axes: Any, outcome: Timeline, names: Sequence[str], colors: dict[str, str], cores: float
) -> None:
    at = [glance.at_s for glance in outcome.glances]
    heights = [[glance.used.get(name, 0.0) for glance in outcome.glances] for name in names]
    axes.stackplot(
        at, heights, labels=names, colors=[colors[name] for name in names], linewidth=0, alpha=0.85
    )
    axes.axhline(cores, color="0.4", linewidth=0.8, linestyle=(0, (4, 2)))
    axes.set_title(outcome.policy, loc="left", fontsize=10)
    axes.set_xlabel("seconds")
    axes.set_xlim(at[0] if at else 0.0, at[-1] if at else 1.0)
    axes.set_ylim(0, 1.1 * cores)
    axes.spines[["top", "right"]].set_visible(False)


_LOOKS_PER_S = 8


def simulate(
    path: str | None,
    random_jobs: int | None,
    policies: Sequence[str],
    *,
    seed: int,
    json_path: str | None,
    plots: Sequence[str],
) -> int:
    """Play a workload from a file, or one at random, under one policy or several."""
    if (path is None) == (random_jobs is None):
        raise BadArgument("give a workload file or --random, one of them")
    workload = _read(path) if path is not None else drawn(seed, random_jobs or 0)
    names = [policy_of(name).name for name in policies] or [workload.machine.policy]
    for plot in plots:
        check_plot_path(plot)
        check_writable(plot)
    if json_path not in (None, "-"):
        check_writable(str(json_path))
    console = Console(stderr=json_path == "-")
    outcomes = [_played(workload, name, seed, console) for name in names]
    for outcome in outcomes:
        _show(outcome, console)
    text = json.dumps({"seed": seed, "outcomes": [asdict(one) for one in outcomes]}) + "\n"
    if json_path == "-":
        write(text, sys.stdout)
    elif json_path is not None:
        write_text(json_path, text)
        console.print_plain(f"figures: {json_path}")
    for plot in plots:
        draw_timeline(outcomes, workload.machine.cores * workload.machine.nodes, plot)
        console.print_plain(f"plot: {plot}")
    return 0


def _played(workload: Workload, policy: str, seed: int, console: Console) -> Outcome:
    """Play it under one policy; on a terminal, show how far its clock has come."""
    under = replace(workload, machine=replace(workload.machine, policy=policy))
    what = f"{policy}: playing {counted(len(workload.jobs), 'job')}"
    with console.status(what, refresh_per_second=_LOOKS_PER_S) as status:
        shown_s = time.monotonic()

        def tell(clock_s: float) -> None:
            nonlocal shown_s
            if time.monotonic() - shown_s >= 1 / _LOOKS_PER_S:
                shown_s = time.monotonic()
                status.update(f"{what}, {clock_s:,.0f} s on their clock")

        return play(under, seed, tell=tell)


def _read(path: str) -> Workload:
    if not Path(path).exists():
        raise BadArgument(f"there is no workload {path!r} in {os.getcwd()}; check the path")
    try:
        text = Path(path).read_text()
    except (OSError, UnicodeDecodeError) as error:
        what = getattr(error, "strerror", None) or error
        raise BadArgument(f"cannot read the workload {path!r}: {what}") from error
    return parsed(text, path)


def _show(outcome: Outcome, console: Console) -> None:
    console.print_plain(
        f"{outcome.policy}: {outcome.per_s:,.1f} samples/s in all, {outcome.seconds:,.1f} s"
    )
    table = Table(box=None, pad_edge=False)
    for column in ("job", "samples", "prepared", "samples/s", "waiting", "seconds"):
        table.add_column(column, justify="left" if column == "job" else "right")
    for job in outcome.jobs:
        table.add_row(
            job.name,
            *(f"{job.delivered:,}", f"{job.prepared:,}", f"{job.per_s:,.1f}"),
            *(f"{job.waiting:.0%}", f"{job.seconds:,.1f}"),
        )
    console.print(table)
    if len(outcome.nodes) > 1:
        prepared = sum(node.prepared for node in outcome.nodes)
        fetched = sum(node.fetched for node in outcome.nodes)
        console.print_plain(
            f"{len(outcome.nodes)} nodes: {prepared:,} rows prepared, {fetched:,} sent from node "
            "to node"
        )
