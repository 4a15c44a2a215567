"""`joader up`, `down` and `status`: the daemon of this user on this machine."""

import json
import os
import select
import sys
from typing import Any

from rich.table import Table

from joader.cli.console import Console, write
from joader.client.connection import Connection
from joader.config import size_in_bytes, socket_path
from joader.daemon.lifecycle import connected, log_path, start
from joader.daemon.start_lock import start_lock
from joader.errors import BadArgument, Overdue
from joader.messages import AskStatus, Status, Stop

_DOWN_S = 20.0
_ASK_S = 10.0
_COUNTS = ("position", "delivered", "prepared", "shared")


def up(memory: str | None, workers: int | None, threads: int, detach: bool) -> int:
    """Start the daemon, in the background or here."""
    path = socket_path()
    arguments = [f"--threads-per-worker={threads}", "--idle=0"]
    if memory:
        arguments.append(f"--memory={size_in_bytes(memory)}")
    if workers:
        arguments.append(f"--workers={workers}")
    with start_lock(path):
        running = connected(path)
        if running is not None:
            running.close()
            raise BadArgument(f"a daemon runs at {path} already; `joader status` shows it")
        if detach:
            pid = start(path, arguments)
            write(
                f"joader: daemon {pid} listens at {path}; it writes to {log_path()}\n", sys.stdout
            )
            return 0
    from joader.daemon.main import main

    write(f"joader: listening at {path}; Ctrl-C ends it\n", sys.stdout)
    sys.argv = ["joader.daemon", f"--socket={path}", *arguments]
    main()
    return 0


def down(force: bool) -> int:
    """End the daemon and wait until it is gone."""
    connection = Connection(start=False)
    jobs = json.loads(connection.ask(AskStatus(), Status, _ASK_S).body)["jobs"]
    if jobs and not force:
        names = ", ".join(f"{job['name']} (process {job['pid']})" for job in jobs)
        connection.close()
        read = f"{counted(len(jobs), 'job')} {'reads' if len(jobs) == 1 else 'read'}"
        raise BadArgument(f"{read}: {names}; end them first, or say --force")
    pid = connection.daemon_pid
    process = os.pidfd_open(pid)
    try:
        connection.send(Stop())
        connection.close()
        if not select.select([process], [], [], _DOWN_S)[0]:
            raise Overdue(f"the daemon (process {pid}) has not ended in {_DOWN_S:.0f} s")
    finally:
        os.close(process)
    write("joader: the daemon has ended\n", sys.stdout)
    return 0


def status(as_json: bool) -> int:
    """Show what runs and how much is shared."""
    connection = Connection(start=False)
    answer = connection.ask(AskStatus(), Status, _ASK_S)
    connection.close()
    if as_json:
        write(answer.body.decode() + "\n", sys.stdout)
        return 0
    body = json.loads(answer.body)
    console = Console()
    console.print(_summary(body), markup=False, highlight=False)
    if body["jobs"]:
        console.print(_jobs(body))
    return 0


def _summary(body: dict[str, Any]) -> str:
    memory, totals = body["memory"], body["totals"]
    lines = [
        f"joader {body['version']}, process {body['pid']}, {counted(body['workers'], 'worker')}",
        f"memory: {size(memory['used_bytes'])} of {size(memory['budget_bytes'])} used, "
        f"{size(memory['pinned_bytes'])} in use now",
    ]
    if totals["delivered"]:
        saved = totals["delivered"] - totals["prepared"]
        lines.append(
            f"{totals['delivered']:,} samples delivered, {totals['prepared']:,} prepared: "
            f"{saved / totals['delivered']:.0%} of the work was saved"
        )
    else:
        lines.append("no samples delivered yet")
    return "\n".join(lines)


def _jobs(body: dict[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False)
    columns = ("id", "name", "pid", "epoch", *_COUNTS)
    for column in (*columns, "saved"):
        table.add_column(column, justify="left" if column == "name" else "right")
    for job in body["jobs"]:
        table.add_row(*(_cell(job, column) for column in columns), _saved(job))
    return table


def _cell(job: dict[str, Any], column: str) -> str:
    if column == "name" and job["world_size"] > 1:
        return f"{job['name']}, rank {job['rank']}"
    return f"{job[column]:,}" if column in _COUNTS else str(job[column])


def _saved(job: dict[str, Any]) -> str:
    """Return the part of a job's samples that were there already, as another job's or its own."""
    return f"{job['hits'] / job['delivered']:.0%}" if job["delivered"] else "-"


def counted(count: int, name: str) -> str:
    """Return a number of things in words."""
    return f"{count:,} {name}{'' if count == 1 else 's'}"


def size(count: int) -> str:
    """Return a number of bytes in words."""
    value = float(count)
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if value < 1024 or unit == "GiB":
            return f"{value:.0f} {unit}" if unit == "bytes" else f"{value:.1f} {unit}"
        value /= 1024
    return ""
