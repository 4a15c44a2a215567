"""`joader status --ended`: the jobs that have ended, with their final figures."""

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict

from rich.table import Table
from rich.text import Text

from joader.cli.console import Console, write
from joader.cli.dashboard import run_now_or_last
from joader.cli.words import ago, duration, part, printable, rate
from joader.statistics import JobStatistics, label_of


def ended(as_json: bool) -> int:
    """Show them, the latest first; without a daemon, those of the last one."""
    past = run_now_or_last(time.time()).past[::-1]
    if as_json:
        write(json.dumps([asdict(job) for job in past]) + "\n", sys.stdout)
        return 0
    if not past:
        write("No job has ended within a day.\n", sys.stdout)
        return 0
    names = [printable(label_of(job)) for job in past]
    Console().print_fitted(names, lambda shown: _table(past, shown, time.time()))
    return 0


def _table(jobs: Sequence[JobStatistics], names: Sequence[str], now: float) -> Table:
    table = Table(box=None, pad_edge=False)
    for title in ("id", "name", "ended", "after", "delivered", "prepared", "per s", "waited"):
        table.add_column(title, justify="left" if title == "name" else "right", no_wrap=True)
    table.add_column("saved", justify="right")
    for job, name in zip(jobs, names, strict=True):
        table.add_row(
            *(str(job.id), Text(name), ago(job.ended, now), duration(job.ended - job.began)),
            *(f"{job.delivered:,}", f"{job.prepared:,}"),
            *(rate(job.samples_per_s), part(job.waiting), part(job.saved)),
        )
    return table
