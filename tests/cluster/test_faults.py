"""What happens to a cluster: nodes and leaders killed, joining, leaving, cut off and healed.

Every job checks all ids and all bytes that it gets, so a test only has to let it end.
"""

import os
import random
import signal
import time
from pathlib import Path

import pytest

from tests.cluster.nodes import Nodes, namespaces_work
from tests.processes.jobs import wait_until

# No batch may wait longer for a node that is lost: three seconds until it counts as silent, and
# what is prepared here then.
LONGEST_S = 5.0


def half_read(nodes: Nodes, rows: int) -> None:
    wait_until(lambda: sum(nodes.prepared().values()) > rows, 30)


def longest_s(result: list[object]) -> float:
    last = result[-1]
    assert isinstance(last, dict)
    return float(last["longest_s"])


@pytest.mark.short
@pytest.mark.slow
def test_a_node_that_is_killed_costs_no_row(nodes: Nodes) -> None:
    nodes.up("a", "b", "c")
    jobs = {name: nodes.job(name, rows=1500) for name in ("a", "b", "c")}
    nodes.go(*jobs.values())
    half_read(nodes, 600)
    nodes.kill("b")
    results = {name: job.result() for name, job in jobs.items()}
    assert longest_s(results["a"]) < LONGEST_S
    assert longest_s(results["c"]) < LONGEST_S
    wait_until(lambda: nodes.members("a") == ["a", "c"])


@pytest.mark.slow
def test_a_daemon_that_a_job_starts_after_a_crash_joins_again(nodes: Nodes) -> None:
    nodes.rejoins = True
    nodes.up("a", "b")
    jobs = {name: nodes.job(name, rows=1500, epochs=3, rest_s=0.05) for name in ("a", "b")}
    nodes.go(*jobs.values())
    half_read(nodes, 600)
    nodes.kill("b")
    wait_until(lambda: nodes.members("a") == ["a"])
    wait_until(lambda: nodes.members("a") == ["a", "b"])
    for job in jobs.values():
        job.result()


@pytest.mark.slow
def test_a_node_that_is_stopped_is_not_waited_for(nodes: Nodes) -> None:
    nodes.up("a", "b")
    jobs = {name: nodes.job(name, rows=1500) for name in ("a", "b")}
    nodes.go(*jobs.values())
    half_read(nodes, 600)
    nodes.daemons["b"].send_signal(signal.SIGSTOP)
    try:
        assert longest_s(jobs["a"].result()) < LONGEST_S
        wait_until(lambda: nodes.members("a") == ["a"])
    finally:
        nodes.daemons["b"].send_signal(signal.SIGCONT)
    jobs["b"].result()
    wait_until(lambda: nodes.members("a") == ["a", "b"])  # it has met the leader again


@pytest.mark.short
@pytest.mark.slow
def test_the_leader_is_killed_and_others_go_on_and_meet_the_next(nodes: Nodes) -> None:
    nodes.up("a", "b", "c")
    jobs = {name: nodes.job(name, rows=1500) for name in ("b", "c")}
    nodes.go(*jobs.values())
    half_read(nodes, 600)
    nodes.kill("a")
    # All of them are on the machine of the address here, so one of them leads next.
    wait_until(lambda: nodes.members("b") == ["b", "c"] == nodes.members("c"), 10)
    for job in jobs.values():
        assert longest_s(job.result()) < LONGEST_S
    assert nodes.log("b").count("is lost (") == 1
    nodes.up("a")
    wait_until(lambda: nodes.members("c") == ["a", "b", "c"])


@pytest.mark.short
@pytest.mark.slow
def test_a_node_that_joins_late_takes_part(nodes: Nodes) -> None:
    nodes.up("a", "b")
    jobs = [nodes.job(name, rows=1500, epochs=4, rest_s=0.05) for name in ("a", "b")]
    nodes.go(*jobs)
    half_read(nodes, 500)
    nodes.up("c")
    late = nodes.job("c", rows=1500, epochs=1)
    for job in (*jobs, late):
        job.result()
    cluster = nodes.status("c")["cluster"]
    assert cluster["fetched"] > 300
    assert sum(nodes.prepared().values()) < 1.8 * 1500


@pytest.mark.short
@pytest.mark.slow
def test_a_node_leaves_in_good_order(nodes: Nodes) -> None:
    nodes.up("a", "b")
    jobs = {name: nodes.job(name, rows=1500) for name in ("a", "b")}
    nodes.go(*jobs.values())
    half_read(nodes, 600)
    nodes.kill("b", signal.SIGTERM)
    for job in jobs.values():
        assert longest_s(job.result()) < LONGEST_S
    assert nodes.members("a") == ["a"]


@pytest.mark.short
@pytest.mark.slow
def test_nodes_that_are_cut_off_go_on_and_meet_again(nodes_apart: Nodes) -> None:
    nodes = nodes_apart
    nodes.up("a", "b", "c")
    jobs = {name: nodes.job(name, rows=2000) for name in ("a", "b", "c")}
    nodes.go(*jobs.values())
    half_read(nodes, 800)
    nodes.pull("b")
    wait_until(lambda: nodes.members("a") == ["a", "c"], 10)
    assert nodes.members("b") == ["a", "b", "c"]  # as it last knew them
    wait_until(lambda: not nodes.status("b")["cluster"]["leader_reached"], 10)
    nodes.plug("b")
    wait_until(lambda: nodes.members("a") == ["a", "b", "c"], 15)
    wait_until(lambda: nodes.status("b")["cluster"]["leader_reached"])
    for job in jobs.values():
        assert longest_s(job.result(90)) < LONGEST_S


# So many are played; `CLUSTER_SCENARIOS=50 make test-cluster` plays more.
SEEDS = range(int(os.environ.get("CLUSTER_SCENARIOS", "4")))
EVENTS = ("kill", "leave", "stop", "pull", "start")


@pytest.mark.slow
@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=[pytest.mark.short] if not seed else []) for seed in SEEDS]
)
def test_ids_and_bytes_survive_whatever_happens(tmp_path: Path, seed: int) -> None:
    luck = random.Random(seed)
    apart = namespaces_work() and luck.random() < 0.5
    nodes, names = Nodes(tmp_path, apart), ["a", "b", "c"]
    nodes.rejoins = luck.random() < 0.5
    try:
        nodes.up(*names, memory=luck.choice(["2MiB", "64MiB"]))
        jobs = [
            nodes.job(luck.choice(names), rows=800, epochs=2, own=luck.random() < 0.3)
            for _ in range(3)
        ]
        nodes.go(*jobs)
        for step in range(3):
            half_read(nodes, 200 * (step + 1))
            let_happen(nodes, luck, luck.choice(names))
        for job in jobs:
            job.result(120)
    finally:
        nodes.down()


def let_happen(nodes: Nodes, luck: random.Random, name: str) -> None:
    match luck.choice(EVENTS):
        case "kill" if name in nodes.daemons:
            nodes.kill(name)
        case "leave" if name in nodes.daemons:
            nodes.kill(name, signal.SIGTERM)
        case "stop" if name in nodes.daemons:
            nodes.daemons[name].send_signal(signal.SIGSTOP)
            time.sleep(luck.random() * 5)
            nodes.daemons[name].send_signal(signal.SIGCONT)
        case "pull" if nodes.apart:
            nodes.pull(name)
            time.sleep(luck.random() * 5)
            nodes.plug(name)
        case _ if name not in nodes.daemons and not nodes.listens(name):
            # A job may start one first; then this one ends, and says so.
            nodes.up(name, wait=False)
            wait_until(lambda: nodes.listens(name) or nodes.has_ended(name))
