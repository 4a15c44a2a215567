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
    console = Console()
    console.print(_table(past, time.time()) if past else "No job has ended within a day.")
    return 0


def _table(jobs: Sequence[JobStatistics], now: float) -> Table:
    table = Table(box=None, pad_edge=False)
    for title in ("id", "name", "ended", "after", "delivered", "prepared", "shared", "per s"):
        table.add_column(title, justify="left" if title == "name" else "right")
    for title in ("waited", "saved"):
        table.add_column(title, justify="right")
    for job in jobs:
        table.add_row(
            *(str(job.id), Text(printable(label_of(job))), ago(job.ended, now)),
            duration(job.ended - job.began),
            *(f"{count:,}" for count in (job.delivered, job.prepared, job.shared)),
            *(rate(job.samples_per_s), part(job.waiting), part(job.saved)),
        )
    return table
