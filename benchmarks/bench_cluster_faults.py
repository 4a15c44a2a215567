"""What happens to a cluster, and how long jobs on other nodes wait for it: the failure table.

    PYTHONPATH=. python benchmarks/bench_cluster_faults.py [--rounds 3]

Three daemons, a job on each, rows of 2 ms. *noticed*: until the others' membership shows it.
*longest wait*: of any batch of a job on another node, in the whole pass. Every job checks all ids
and bytes. With root, every node has a network of its own, and its cable is pulled; else on one
loopback, without cables.
"""

import argparse
import signal
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from harness import machine, report

from tests.cluster.nodes import Nodes, namespaces_work
from tests.processes.jobs import wait_until


def kill(nodes: Nodes) -> None:
    nodes.kill("b")


def stop(nodes: Nodes) -> None:
    nodes.daemons["b"].send_signal(signal.SIGSTOP)


def leave(nodes: Nodes) -> None:
    nodes.kill("b", signal.SIGTERM)


def pull(nodes: Nodes) -> None:
    nodes.pull("b")


def join(nodes: Nodes) -> None:
    nodes.up("c")
    nodes.job("c", rows=ROWS)


FAULTS: dict[str, Callable[[Nodes], None]] = {
    "a daemon is killed": kill,
    "a daemon is stopped": stop,
    "a daemon ends in good order": leave,
    "a cable is pulled": pull,
    "a node joins, with a job": join,
}
ROWS = 2000


def played(fault: Callable[[Nodes], None], apart: bool) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as folder:
        nodes = Nodes(Path(folder), apart)
        try:
            before, after = ("ab", "abc") if fault is join else ("abc", "ac")
            nodes.up(*before)
            jobs = {name: nodes.job(name, rows=ROWS) for name in before}
            nodes.go(*jobs.values())
            wait_until(lambda: sum(nodes.prepared().values()) > 700, 60)
            began = time.monotonic()
            fault(nodes)
            wait_until(lambda: nodes.members("a") == list(after), 20)
            noticed_s = time.monotonic() - began
            longest_s = max(
                float(jobs[name].result(120)[-1]["longest_s"]) for name in jobs if name in after
            )
        finally:
            for daemon in nodes.daemons.values():
                daemon.send_signal(signal.SIGCONT)
            nodes.down()
    return noticed_s, longest_s


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    apart, rows = namespaces_work(), []
    for name, fault in FAULTS.items():
        if fault is pull and not apart:
            continue
        each = [played(fault, apart) for _ in range(options.rounds)]
        noticed, longest = (statistics.median(values) for values in zip(*each, strict=True))
        print(f"{name:30} noticed {noticed:4.1f} s, longest wait {longest:4.1f} s", flush=True)
        rows.append({"what": name, "noticed_s": noticed, "longest_wait_s": longest})
    method = f"median of {options.rounds} rounds, {'namespaces' if apart else 'loopback'}"
    report("cluster_faults", machine(), method, rows)


if __name__ == "__main__":
    main()
