"""A node that ends in good order: others take over what only it has, as far as they have room."""

import signal
import subprocess
import sys
import time

import pytest

from tests.cluster.nodes import Nodes
from tests.processes.jobs import wait_until

ROWS = 800


def a_pass_ahead(nodes: Nodes, *others: str, rows: int = ROWS, memory: str = "64MiB") -> list[int]:
    """Have a job on b read all rows, and jobs on the others a part by then; return their exits."""
    nodes.up("a", "b", memory=memory)
    nodes.up(*(name for name in others if name != "a"), memory=memory)
    late = [nodes.job(name, rows=rows, rest_s=0.08) for name in others]
    early = nodes.job("b", rows=rows)
    nodes.go(early, *late)
    early.result()
    assert all(job.process.poll() is None for job in late)
    return [nodes.jobs.index(job) for job in late]


def inherited(nodes: Nodes, name: str) -> int:
    return int(nodes.status(name)["cluster"]["inherited"])


@pytest.mark.short
@pytest.mark.slow
def test_what_a_node_had_alone_is_not_prepared_again_after_it_has_left(nodes: Nodes) -> None:
    late = a_pass_ahead(nodes, "a")
    began = time.monotonic()
    nodes.kill("b", signal.SIGTERM)
    assert time.monotonic() - began < 8  # all is handed over, long before it gives up
    prepared = nodes.prepared()
    assert set(prepared) == set(range(ROWS))
    for job in late:
        nodes.jobs[job].result()
    assert nodes.prepared() == prepared
    assert inherited(nodes, "a") > 0


@pytest.mark.slow
def test_several_nodes_share_what_one_leaves(nodes: Nodes) -> None:
    late = a_pass_ahead(nodes, "a", "c")
    down = [sys.executable, "-m", "joader", "down"]
    subprocess.run(down, env=nodes.environment("b"), check=True, capture_output=True)
    assert nodes.daemons.pop("b").wait(20) == 0
    prepared = nodes.prepared()
    for job in late:
        nodes.jobs[job].result()
    assert nodes.prepared() == prepared
    assert min(inherited(nodes, "a"), inherited(nodes, "c")) > 0


@pytest.mark.slow
def test_who_has_no_room_is_not_flooded(nodes: Nodes) -> None:
    late = a_pass_ahead(nodes, "a", memory="1MiB")  # for a third of the rows
    before = nodes.status("a")["memory"]
    nodes.kill("b", signal.SIGTERM)
    free = before["budget_bytes"] - before["used_bytes"]
    # What it has that is worth as much stays: there is room for what is free, and for copies.
    assert inherited(nodes, "a") * 3000 <= free + before["budget_bytes"] / 2
    for job in late:
        nodes.jobs[job].result()


@pytest.mark.slow
def test_nobody_waits_for_an_heir_that_is_stopped(nodes: Nodes) -> None:
    late = a_pass_ahead(nodes, "a")
    nodes.daemons["a"].send_signal(signal.SIGSTOP)
    try:
        began = time.monotonic()
        nodes.kill("b", signal.SIGTERM)
        assert time.monotonic() - began < 12
    finally:
        nodes.daemons["a"].send_signal(signal.SIGCONT)
    for job in late:
        nodes.jobs[job].result()
    wait_until(lambda: nodes.members("a") == ["a"])
