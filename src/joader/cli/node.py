"""`joader down` and `status`: the daemon of this user on this machine.

`joader jobs`: all jobs that read now, or all about one of them; give it another weight.

`joader policy`: who gets how much of the workers' time, and why; change it.
"""

import json
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from rich.console import Group
from rich.table import Table
from rich.text import Text

from joader.cli.console import Console, write
from joader.cli.explain import job_number
from joader.cli.other_daemon import OtherDaemon, other_daemon
from joader.cli.top.bars import glyphs_for
from joader.cli.top.details import details
from joader.cli.top.job_table import MOST_LINES, table
from joader.cli.words import advice, counted, part, printable, size
from joader.client.watcher import Watcher
from joader.config import socket_path
from joader.errors import BadArgument, NoDaemon, Overdue, Refusal
from joader.schedule.shares.policies import POLICIES, policy_of
from joader.schedule.shares.weight import checked_weight
from joader.statistics import (
    ClusterStatistics,
    JobStatistics,
    NodeStatistics,
    ShareStatistics,
    label_of,
)
from joader.wire import readable


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


_DOWN_S = 20.0
_COUNTS = ("position", "delivered", "prepared", "shared")


def down(force: bool) -> int:
    """Stop the daemon and wait until it is gone."""
    try:
        watcher = Watcher()
    except Refusal as refusal:
        return _end_other(other_daemon(refusal))
    jobs = watcher.status().jobs
    if jobs and not force:
        names = ", ".join(f"{label_of(job)} (process {job.pid})" for job in jobs)
        watcher.close()
        read = f"{counted(len(jobs), 'job')} {'reads' if len(jobs) == 1 else 'read'}"
        raise BadArgument(f"{read}: {names}; end them first, or use --force")
    with _ending(watcher.daemon_pid) as process:
        if force:
            watcher.stop()
        else:  # in good order: in a cluster others take over what only this node has
            signal.pidfd_send_signal(process, signal.SIGTERM)
        watcher.close()
    write("joader: the daemon has ended\n", sys.stdout)
    return 0


def _end_other(daemon: OtherDaemon) -> int:
    """Stop a daemon that speaks another protocol: SIGTERM lets jobs get what they asked for."""
    with _ending(daemon.pid) as process:
        signal.pidfd_send_signal(process, signal.SIGTERM)
    write(
        f"joader: the daemon of joader {daemon.version}, process {daemon.pid}, has ended\n",
        sys.stdout,
    )
    return 0


@contextmanager
def _ending(pid: int) -> Iterator[int]:
    """Yield a process's descriptor; after the block wait until the process has ended."""
    process = os.pidfd_open(pid)
    try:
        yield process
        if not readable(process, _DOWN_S):
            raise Overdue(f"the daemon (process {pid}) has not ended within {_DOWN_S:.0f} s")
    finally:
        os.close(process)


def status(as_json: bool) -> int:
    """Show what runs and how much is shared; return 1 if no daemon answers."""
    path = socket_path()
    try:
        with Watcher() as watcher:
            node = watcher.status()
    except (Refusal, NoDaemon) as error:
        # The same keys as with a daemon, so that scripts need not ask which it is.
        nothing = {**asdict(NodeStatistics()), "running": False, "socket": str(path)}
        if isinstance(error, Refusal):
            other = other_daemon(error)
            error = NoDaemon(f"the daemon at {path}, {other}")
            nothing |= {"running": True, **asdict(other)}
        if not as_json:
            raise error from None
        write(json.dumps({**nothing, "error": str(error)}) + "\n", sys.stdout)
        return 1
    if as_json:
        shown = {**asdict(node), "running": True, "socket": str(path)}
        write(json.dumps(shown) + "\n", sys.stdout)
        return 0
    console = Console()
    console.print(_summary(node, path), markup=False, highlight=False, soft_wrap=True)
    if node.cluster is not None:
        console.print(_cluster_summary(node.cluster), markup=False, highlight=False, soft_wrap=True)
        console.print(_nodes(node.cluster))
    if node.jobs:
        names = [printable(label_of(job)) for job in node.jobs]
        console.print_fitted(names, lambda shown: _jobs(node.jobs, shown))
    if len(node.jobs) > 1:  # of one alone all was said above
        for job in node.jobs:
            console.print_plain(f"job {job.id}: {advice(job.diagnosis)}")
    return 0


def _summary(node: NodeStatistics, path: Path) -> str:
    memory, totals = node.memory, node.totals
    lines = [
        f"joader {node.version}, process {node.pid}, {counted(node.workers, 'worker')}",
        f"listens at {path}",
        f"memory: {size(memory.used_bytes)} of {size(memory.budget_bytes)} used, "
        f"{size(memory.pinned_bytes)} in use now",
    ]
    if node.started_by:
        lines.insert(
            1,
            f"started by a job, process {node.started_by}: it may end with that job's cgroup, "
            f"{node.cgroup or '/'} (`joader up` starts a separate daemon)",
        )
    saves = totals.saved
    if saves is None:
        lines.append("no samples delivered yet")
    else:
        lines.append(
            f"{totals.delivered:,} samples delivered, {totals.prepared:,} prepared: "
            f"{saves:.0%} of the work was saved"
        )
    lines.append(advice(node.diagnosis))
    return "\n".join(lines)


def _cluster_summary(cluster: ClusterStatistics) -> str:
    reached = "" if cluster.leader_reached else ", which is not reached now"
    apart = cluster.not_sent + cluster.lost
    lines = [
        f"node {printable(cluster.name)} of {len(cluster.nodes)}, led by "
        f"{printable(cluster.leader)}{reached}",
        f"{cluster.fetched:,} rows ({size(cluster.fetched_bytes)}) came from other nodes, "
        f"{cluster.sent:,} ({size(cluster.sent_bytes)}) went to them",
    ]
    if apart or cluster.too_dear:
        lines.append(
            f"prepared here instead: {apart:,} that did not come, {cluster.too_dear:,} whose bytes "
            "would take longer"
        )
    return "\n".join(lines)


def _nodes(cluster: ClusterStatistics) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("node", "address", "cores", "prepared", "fetched", "sent", ""):
        table.add_column(column, justify="left" if column in ("node", "address") else "right")
    for one in cluster.nodes:
        place = "this one" if one.here else "linked" if one.linked else "not linked"
        figures = (one.cores, one.prepared, one.fetched, one.sent)
        table.add_row(
            *(Text(printable(text)) for text in (one.name, f"{one.host}:{one.port}")),
            *(f"{figure:,}" for figure in figures),
            place,
        )
    return table


def _jobs(jobs: Sequence[JobStatistics], names: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("id", "name", "pid", "epoch", *_COUNTS, "saved"):
        table.add_column(column, justify="left" if column == "name" else "right", no_wrap=True)
    for job, name in zip(jobs, names, strict=True):
        counts = (f"{getattr(job, column):,}" for column in _COUNTS)
        who = (str(job.id), Text(name), str(job.pid), str(job.epoch))
        table.add_row(*who, *counts, part(job.saved))
    return table
