"""`joader up`: start the daemon of this user on this machine, or one on every node of Ray's.

Apart from the commands that only ask (node.py): what a start needs takes a while to load.

`joader up --wait`: until this node's daemon serves, whoever starts it, and its cluster too.
"""

import mmap
import os
import sys
import time
from dataclasses import dataclass

from joader.cli.console import write
from joader.cli.words import counted
from joader.client.watcher import Watcher
from joader.cluster.auto import auto_address
from joader.cluster.leader_address import Address
from joader.cluster.this_node import key_for
from joader.config import cpu_part, size_in_bytes, socket_path
from joader.daemon.lifecycle import connected, log_path, start
from joader.daemon.start_lock import start_lock
from joader.errors import BadArgument, JoaderError, MissingExtra, NoDaemon, Overdue
from joader.schedule.shares.policies import policy_of

_LOOK_S = 0.1


def wait_until_ready(seconds: float, nodes: int) -> int:
    """Wait for a daemon, with so many nodes in its cluster (0: any); Overdue says what is missing.

    A daemon that was started for a cluster serves only once it is in it.
    """
    deadline, missing = time.monotonic() + seconds, ""
    while True:
        try:
            with Watcher() as watcher:
                cluster = watcher.status().cluster
            there = len(cluster.nodes) if cluster is not None else 0
            if there >= nodes:
                among = f", {counted(there, 'node')} in its cluster" if there else ""
                write(f"joader: ready at {socket_path()}{among}\n", sys.stdout)
                return 0
            missing = f"{counted(there, 'node')} of {nodes} in its cluster"
        except NoDaemon as error:
            missing = str(error)
        if time.monotonic() >= deadline:
            raise Overdue(f"not ready after {seconds:g} s (--wait SECONDS waits longer): {missing}")
        time.sleep(_LOOK_S)


@dataclass(frozen=True)
class Up:
    """How a daemon is started."""

    memory: str | None = None
    workers: int | None = None
    cpu: str | None = None
    policy: str | None = None
    log_format: str | None = None
    detach: bool = False
    dashboard: bool = True
    cluster: str | None = None
    ray: str | None = None


def up(options: Up) -> int:
    """Start the daemon, in the background or here."""
    if options.ray:
        return _up_on_ray(options, options.ray)
    path = socket_path()
    arguments = ["--idle=0"]
    if options.memory:
        memory = size_in_bytes(options.memory)
        if memory < mmap.PAGESIZE:
            raise BadArgument(
                f"--memory={options.memory} is too small: give at least {mmap.PAGESIZE} bytes, and "
                "better 1GiB or more"
            )
        arguments.append(f"--memory={memory}")
    if options.workers:
        arguments.append(f"--workers={options.workers}")
    if options.cpu is not None:
        cpu_part(options.cpu)  # what is wrong with it is said here, not by the daemon
        arguments.append(f"--cpu={options.cpu}")
    if options.policy is not None:
        arguments.append(f"--policy={policy_of(options.policy).name}")
    if options.log_format:
        arguments.append(f"--log-format={options.log_format}")
    leader = None
    if options.cluster is not None:
        auto = options.cluster == "auto"
        leader = auto_address(os.environ) if auto else Address.read(options.cluster)
        leader.resolved()
        key_for(leader)
        arguments.append(f"--cluster={leader}")
    with start_lock(path):
        running = connected(path)
        if running is not None:
            running.close()
            raise BadArgument(f"a daemon already runs at {path}; `joader status` shows it")
        if options.detach:
            pid = start(path, arguments)
            write(
                f"joader: daemon {pid} listens at {path}; it writes to {log_path()}\n", sys.stdout
            )
            _open_dashboard(options)
            return 0
    from joader.daemon.main import main

    _open_dashboard(options)
    when = f" as soon as it has met the cluster at {leader}" if leader else ""
    write(f"joader: listening at {path}{when}; Ctrl-C stops it\n", sys.stdout)
    sys.argv = ["joader.daemon", f"--socket={path}", *arguments]
    main()


def _up_on_ray(options: Up, address: str) -> int:
    if options.cluster is not None:
        raise BadArgument("--ray and --cluster name two ways to find other machines; use one")
    from joader.cluster.ray import start as start_on_ray

    names = start_on_ray(options.memory, None if address == "auto" else address)
    counted_nodes = counted(len(names), "node")
    write(f"joader: a daemon on {counted_nodes}: {', '.join(sorted(names))}\n", sys.stdout)
    return 0


def _open_dashboard(options: Up) -> None:
    """Have a dashboard beside the daemon, if it is wanted and installed."""
    if not options.dashboard:
        return
    from joader.cli.dashboard import beside_daemon

    try:
        write(f"joader: {beside_daemon().url} shows what runs\n", sys.stdout)
    except MissingExtra:
        pass  # `joader dashboard` says what to install
    except JoaderError as error:
        write(f"joader: there is no dashboard: {error}\n", sys.stderr)
