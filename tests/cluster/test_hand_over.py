"""A node that ends in good order: others take over what only it has, as far as they have room."""

import signal
import subprocess
import sys
import time

import pytest

from tests.cluster.nodes import NodeJob, Nodes
from tests.processes.jobs import wait_until

ROWS = 800  # half of them are so many batches


def a_pass_ahead(nodes: Nodes, *others: str, memory: str = "64MiB") -> list[NodeJob]:
    """Have a job on b read all rows, and jobs on the others half; return those, which wait now."""
    nodes.up("a", "b", memory=memory)
    nodes.up(*(name for name in others if name != "a"), memory=memory)
    early = nodes.job("b", rows=ROWS, pause=16, go="early")
    nodes.go(early, word="early")
    # All know that b can prepare these rows, so they compare theirs with those of b.
    wait_until(lambda: all(able(nodes, name) == {"b"} for name in others))
    late = [nodes.job(name, rows=ROWS, pause=ROWS // 2) for name in others]
    nodes.go(*late)
    for name in others:
        wait_until(lambda name=name: (nodes.folder / f"paused-{name}").exists(), 60)
    (nodes.folder / "go-on-b").touch()
    early.result()
    return late


def able(nodes: Nodes, name: str) -> set[str]:
    """Return the nodes that can prepare something, as another sees them."""
    return {one["name"] for one in nodes.status(name)["cluster"]["nodes"] if one["recipes"]}


def go_on(nodes: Nodes, late: list[NodeJob]) -> None:
    """Let jobs read the rest of their passes, with all ids and bytes checked."""
    for name in "ac":
        (nodes.folder / f"go-on-{name}").touch()
    for job in late:
        job.result()


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
    go_on(nodes, late)
    assert nodes.prepared() == prepared
    assert inherited(nodes, "a") > 0


@pytest.mark.slow
def test_several_nodes_share_what_one_leaves(nodes: Nodes) -> None:
    late = a_pass_ahead(nodes, "a", "c")
    down = [sys.executable, "-m", "joader", "down"]
    subprocess.run(down, env=nodes.environment("b"), check=True, capture_output=True)
    assert nodes.daemons.pop("b").wait(20) == 0
    # Not that nothing is prepared again: the two may still compare their rows with each other.
    go_on(nodes, late)
    assert min(inherited(nodes, "a"), inherited(nodes, "c")) > 0


@pytest.mark.slow
def test_who_has_no_room_is_not_flooded(nodes: Nodes) -> None:
    late = a_pass_ahead(nodes, "a", memory="1MiB")  # for a third of the rows
    before = nodes.status("a")["memory"]
    nodes.kill("b", signal.SIGTERM)
    free = before["budget_bytes"] - before["used_bytes"]
    # What it has that is worth as much stays: there is room for what is free, and for copies.
    assert inherited(nodes, "a") * 3000 <= free + before["budget_bytes"] / 2
    go_on(nodes, late)


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
    go_on(nodes, late)
    wait_until(lambda: nodes.members("a") == ["a"])
