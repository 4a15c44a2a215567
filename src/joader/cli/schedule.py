"""`joader policy`: who gets how much of the workers' time, and why; change it."""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict

from rich.table import Table
from rich.text import Text

from joader.cli.console import Console, write
from joader.cli.words import advice, printable
from joader.client.watcher import Watcher
from joader.schedule.shares.policies import POLICIES, policy_of
from joader.statistics import JobStatistics, NodeStatistics, ShareStatistics, label_of


def policy(name: str | None, as_json: bool) -> int:
    """Show who gets how much of the workers' time, and why; divide it by another policy first."""
    if name is not None:
        policy_of(name)  # before a daemon is asked
    with Watcher() as watcher:
        node = watcher.change(policy=name) if name else watcher.status()
    if as_json:
        shares = {job.id: job.schedule and asdict(job.schedule) for job in node.jobs}
        write(json.dumps({**asdict(node.schedule), "jobs": shares}) + "\n", sys.stdout)
        return 0
    console = Console()
    console.print_plain(in_words(node))
    console.print_plain(advice(node.diagnosis))
    if node.jobs:
        names = [printable(label_of(job)) for job in node.jobs]
        console.print_fitted(names, lambda shown: _table(node.jobs, shown))
    for job in node.jobs:
        if job.schedule is not None:
            console.print_plain(reason_of(job, job.schedule))
            console.print_plain(f"  {advice(job.diagnosis)}")
    if name is None:
        console.print_plain(f"there are: {', '.join(POLICIES)}; joader policy NAME changes it")
    return 0


def in_words(node: NodeStatistics) -> str:
    """Say what is divided among jobs, and how."""
    its = node.schedule
    ceiling = f", {its.cpu:.0%} of which may be used" if its.cpu < 1 else ""
    return (
        f"policy {its.policy}: {its.active:.3g} workers at a time on {its.cores} cores{ceiling}; "
        f"{its.computing:.3g} at work now"
    )


def reason_of(job: JobStatistics, its: ShareStatistics) -> str:
    """Say what a job gets of the workers' time, and why."""
    needed = "all that it can get" if its.needed is None else f"{its.needed:.2f}"
    return f"job {job.id} gets {its.share:.2f} workers and needs {needed}: {its.reason}"


def _table(jobs: Sequence[JobStatistics], names: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=False)
    columns = ("id", "name", "weight", "needs", "share", "used", "wants/s", "predicted/s", "gets/s")
    for column in (*columns, "slowdown"):
        table.add_column(column, justify="left" if column == "name" else "right", no_wrap=True)
    for job, name in zip(jobs, names, strict=True):
        its = job.schedule
        if its is None:
            table.add_row(str(job.id), Text(name), *["-"] * 8)
            continue
        table.add_row(
            *(str(job.id), Text(name), f"{its.weight:g}"),
            *("all" if its.needed is None else f"{its.needed:.2f}", f"{its.share:.2f}"),
            f"{its.used:.2f}",
            "-" if its.wanted_per_s is None else f"{its.wanted_per_s:,.0f}",
            *(f"{its.predicted_per_s:,.0f}", f"{its.per_s:,.0f}", f"{its.slowdown:.2f}"),
        )
    return table
