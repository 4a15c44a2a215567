"""`joader jobs`: all jobs that read now, or all about one of them."""

import json
import sys
from dataclasses import asdict

from joader.cli.console import Console, write
from joader.cli.explain import job_number
from joader.cli.top.bars import glyphs_for
from joader.cli.top.details import details
from joader.cli.top.job_table import table
from joader.client.watcher import Watcher


def jobs(name: str | None, as_json: bool) -> int:
    """Print them; `name` may be a number, a process or a name."""
    with Watcher() as watcher:
        run = watcher.run()
    shown = run.node.jobs
    if name is not None:
        number = job_number(name, shown)
        shown = tuple(job for job in shown if job.id == number)
    if as_json:
        write(json.dumps([asdict(job) for job in shown]) + "\n", sys.stdout)
        return 0
    console = Console(highlight=False)
    glyphs = glyphs_for(console.encoding)
    if name is not None:
        console.print(details(shown[0], run.node, run.moments, glyphs))
    elif not shown:
        console.print("No job reads now.")
    else:
        for line in table(shown, None, console.width, True, glyphs):
            console.print(line)
    return 0
