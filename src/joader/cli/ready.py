"""`joader up --wait`: until this node's daemon serves, whoever starts it, and its cluster too."""

import sys
import time

from joader.cli.console import write
from joader.cli.words import counted
from joader.client.watcher import Watcher
from joader.config import socket_path
from joader.errors import NoDaemon, Overdue

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
