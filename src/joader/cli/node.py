"""`joader down` and `status`: the daemon of this user on this machine."""

import json
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from rich.table import Table
from rich.text import Text

from joader.cli.console import Console, write
from joader.cli.other_daemon import OtherDaemon, other_daemon
from joader.cli.words import advice, counted, part, printable, size
from joader.client.watcher import Watcher
from joader.config import socket_path
from joader.errors import BadArgument, NoDaemon, Overdue, Refusal
from joader.statistics import ClusterStatistics, JobStatistics, NodeStatistics, label_of
from joader.wire import readable

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
