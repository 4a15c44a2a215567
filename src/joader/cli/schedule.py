"""`joader jobs` and `joader policy`: who gets how much of the workers' time, and why; change it."""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict

from rich.table import Table

from joader.cli.console import Console, write
from joader.cli.explain import job_number
from joader.client.reading.connection import Connection
from joader.errors import BadArgument, Overdue
from joader.messages import AskStatus, Change, Status
from joader.schedule.policies import POLICIES, policy_of
from joader.schedule.weight import checked_weight
from joader.statistics import JobStatistics, NodeStatistics, ShareStatistics, from_json

_ASK_S = 10.0


def jobs(name: str | None, weight: str | None, as_json: bool) -> int:
    """Show all jobs, or one, and what each gets; give one another weight first."""
    given = None if weight is None else weight_of(weight)
    if given is not None and name is None:
        raise BadArgument("--weight is for one job; name it: joader jobs NAME --weight 2")
    connection = Connection(start=False)
    try:
        node = _asked(connection, AskStatus())
        if name is not None:
            number = job_number(name, node.jobs)
            if given is not None:
                node = _asked(connection, Change(job=number, weight=given))
            shown = [job for job in node.jobs if job.id == number]
        else:
            shown = list(node.jobs)
    finally:
        connection.close()
    if as_json:
        body = {"schedule": asdict(node.schedule), "jobs": [asdict(job) for job in shown]}
        write(json.dumps(body) + "\n", sys.stdout)
        return 0
    console = Console()
    console.print_plain(in_words(node))
    if shown:
        console.print(_table(shown))
    for job in shown:
        if job.schedule is not None:
            console.print_plain(reason_of(job, job.schedule))
    return 0


def policy(name: str | None) -> int:
    """Show which policy divides the workers' time, or choose another."""
    if name is not None:
        policy_of(name)  # before a daemon is asked
    connection = Connection(start=False)
    try:
        node = _asked(connection, Change(policy=name) if name else AskStatus())
    finally:
        connection.close()
    write(f"{in_words(node)}\n", sys.stdout)
    if name is None:
        write(f"there are: {', '.join(POLICIES)}; joader policy NAME changes it\n", sys.stdout)
    return 0


def weight_of(text: str) -> float:
    """Read a weight as it was typed."""
    try:
        value: object = float(text)
    except ValueError:
        value = text
    return checked_weight(value)


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


def _asked(connection: Connection, question: AskStatus | Change) -> NodeStatistics:
    try:
        return from_json(connection.ask(question, Status, _ASK_S).body)
    except TimeoutError as error:
        pid = connection.daemon_pid
        raise Overdue(f"the daemon (process {pid}) has not answered in {_ASK_S:.0f} s") from error


def _table(jobs: Sequence[JobStatistics]) -> Table:
    table = Table(box=None, pad_edge=False)
    columns = ("id", "name", "weight", "needs", "share", "used", "wants/s", "predicted/s", "gets/s")
    for column in (*columns, "slowdown"):
        table.add_column(column, justify="left" if column == "name" else "right")
    for job in jobs:
        its = job.schedule
        if its is None:
            table.add_row(str(job.id), job.name, *["-"] * 8)
            continue
        table.add_row(
            *(str(job.id), job.name, f"{its.weight:g}"),
            *("all" if its.needed is None else f"{its.needed:.2f}", f"{its.share:.2f}"),
            f"{its.used:.2f}",
            "-" if its.wanted_per_s is None else f"{its.wanted_per_s:,.0f}",
            *(f"{its.predicted_per_s:,.0f}", f"{its.per_s:,.0f}", f"{its.slowdown:.2f}"),
        )
    return table
