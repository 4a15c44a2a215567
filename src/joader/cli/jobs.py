"""`joader jobs`: all jobs that read now, or all about one of them; give it another weight."""

import json
import sys
from dataclasses import asdict

from rich.console import Group

from joader.cli.console import Console, write
from joader.cli.explain import job_number
from joader.cli.top.bars import glyphs_for
from joader.cli.top.details import details
from joader.cli.top.job_table import MOST_LINES, table
from joader.cli.words import counted
from joader.client.watcher import Watcher
from joader.errors import BadArgument
from joader.schedule.shares.weight import checked_weight


def jobs(name: str | None, weight: str | None, as_json: bool) -> int:
    """Print them; `name` may be a number, a process or a name, also of a job that has ended."""
    given = None if weight is None else weight_of(weight)
    if given is not None and name is None:
        raise BadArgument("--weight is for one job; name it: joader jobs NAME --weight 2")
    with Watcher() as watcher:
        if given is not None and name is not None:
            watcher.change(job=job_number(name, watcher.status().jobs), weight=given)
        run = watcher.run()
    shown = run.node.jobs
    if name is not None:
        number = job_number(name, shown, run.past)
        shown = tuple(job for job in (*shown, *run.past) if job.id == number)
    if as_json:
        write(json.dumps([asdict(job) for job in shown]) + "\n", sys.stdout)
        return 0
    console = Console(highlight=False)
    glyphs = glyphs_for(console.encoding)
    if name is not None:
        console.print(details(shown[0], run.node, run.moments, glyphs, run.past))
    elif not shown:
        ended = f"{counted(len(run.past), 'job')} ended before: joader status --ended"
        console.print(f"No job reads now. {ended}." if run.past else "No job reads now.")
    else:
        # As a group: printed by itself, a line would wrap, whatever it says of that.
        console.print(Group(*table(shown, None, console.width, MOST_LINES, glyphs)))
    return 0


def weight_of(text: str) -> float:
    """Read a weight as it was typed."""
    try:
        value: object = float(text)
    except ValueError:
        value = text
    return checked_weight(value)
