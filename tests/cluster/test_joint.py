"""Jobs with order="joint" on several nodes draw together, and go on if who draws for them is gone.

Every job checks all ids and all bytes that it gets, so a test only has to let it end.
"""

import random
import signal
from pathlib import Path

import pytest

from tests.cluster.nodes import Nodes, namespaces_work
from tests.cluster.test_faults import LONGEST_S, SEEDS, half_read, let_happen, longest_s
from tests.processes.jobs import wait_until

JOINT = {"order": "joint"}
COUPLED = "is drawn on node a"


@pytest.mark.short
def test_joint_jobs_on_two_nodes_read_the_same_rows_at_the_same_time(nodes: Nodes) -> None:
    nodes.up("a", "b", memory="512KiB")  # for a tenth of the rows: who comes later finds nothing
    jobs = [nodes.job(name, rows=1600, loader=JOINT) for name in ("a", "b")]
    nodes.go(*jobs)
    for job in jobs:
        job.result()
    assert COUPLED in nodes.log("b")
    # 128 are compared, and what comes before that; each for itself would be 0.85 × 3200.
    assert sum(nodes.prepared().values()) < 0.65 * 3200


@pytest.mark.slow
def test_pass_after_pass_is_drawn_together_on_three_nodes(nodes: Nodes) -> None:
    nodes.up("a", "b", "c", memory="1MiB")
    jobs = [nodes.job(name, rows=900, epochs=3, loader=JOINT) for name in ("a", "b", "b", "c")]
    nodes.go(*jobs)
    # Jobs end at different times: what they had asked of each other is not waited for.
    assert max(longest_s(job.result()) for job in jobs) < 2.0
    # 384 are compared; a pass takes less than a second, so they are never quite in step.
    assert sum(nodes.prepared().values()) < 0.4 * 4 * 2700
    assert all(nodes.log(name).count(COUPLED) >= 3 for name in ("b", "c"))


@pytest.mark.short
@pytest.mark.slow
def test_the_node_that_draws_is_killed_and_others_go_on_and_meet(nodes: Nodes) -> None:
    nodes.up("a", "b", "c")
    jobs = {name: nodes.job(name, rows=2000, epochs=2, loader=JOINT) for name in ("a", "b", "c")}
    nodes.go(*jobs.values())
    half_read(nodes, 800)
    assert COUPLED in nodes.log("b") + nodes.log("c")
    nodes.kill("a")
    for name in ("b", "c"):
        assert longest_s(jobs[name].result()) < LONGEST_S
    jobs["a"].result()  # on a daemon that it has started, in no cluster
    said = nodes.log("b") + nodes.log("c")
    assert "with the jobs of this node alone" in said
    assert "is drawn on node b" in said or "is drawn on node c" in said


@pytest.mark.slow
def test_a_node_that_draws_and_is_stopped_is_not_waited_for(nodes: Nodes) -> None:
    nodes.up("a", "b")
    jobs = {name: nodes.job(name, rows=1500, loader=JOINT) for name in ("a", "b")}
    nodes.go(*jobs.values())
    half_read(nodes, 600)
    assert COUPLED in nodes.log("b")
    nodes.daemons["a"].send_signal(signal.SIGSTOP)
    try:
        assert longest_s(jobs["b"].result()) < LONGEST_S
    finally:
        nodes.daemons["a"].send_signal(signal.SIGCONT)
    jobs["a"].result()


@pytest.mark.slow
def test_a_node_whose_jobs_are_drawn_for_is_killed(nodes: Nodes) -> None:
    nodes.up("a", "b")
    jobs = {name: nodes.job(name, rows=1500, loader=JOINT) for name in ("a", "b")}
    nodes.go(*jobs.values())
    half_read(nodes, 600)
    assert COUPLED in nodes.log("b")
    nodes.kill("b")
    assert longest_s(jobs["a"].result()) < LONGEST_S
    jobs["b"].result()


@pytest.mark.slow
def test_a_node_that_draws_leaves_in_good_order(nodes: Nodes) -> None:
    nodes.up("a", "b")
    jobs = {name: nodes.job(name, rows=1500, loader=JOINT) for name in ("a", "b")}
    nodes.go(*jobs.values())
    half_read(nodes, 600)
    nodes.kill("a", signal.SIGTERM)
    for job in jobs.values():
        assert longest_s(job.result()) < LONGEST_S


@pytest.mark.slow
def test_nodes_that_are_cut_off_draw_alone_and_meet_again(nodes_apart: Nodes) -> None:
    nodes = nodes_apart
    nodes.up("a", "b")
    jobs = {name: nodes.job(name, rows=3000, slow_s=0.005, loader=JOINT) for name in ("a", "b")}
    nodes.go(*jobs.values())
    half_read(nodes, 600)
    assert nodes.log("b").count(COUPLED) == 1
    nodes.pull("b")
    wait_until(lambda: "with the jobs of this node alone" in nodes.log("b"), 10)
    nodes.plug("b")
    wait_until(lambda: nodes.log("b").count(COUPLED) > 1, 15)
    for job in jobs.values():
        assert longest_s(job.result(90)) < LONGEST_S


@pytest.mark.slow
def test_a_job_on_a_node_that_joins_late_is_drawn_for_at_once(nodes: Nodes) -> None:
    nodes.up("a", "b")
    jobs = [nodes.job(name, rows=2000, epochs=2, loader=JOINT) for name in ("a", "b")]
    nodes.go(*jobs)
    half_read(nodes, 500)
    nodes.up("c")
    late = nodes.job("c", rows=2000, loader=JOINT)
    wait_until(lambda: COUPLED in nodes.log("c"), 20)
    for job in (*jobs, late):
        job.result()


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_ids_and_bytes_survive_whatever_happens(tmp_path: Path, seed: int) -> None:
    luck = random.Random(1000 + seed)
    apart = namespaces_work() and luck.random() < 0.5
    nodes, names = Nodes(tmp_path, apart), ["a", "b", "c"]
    nodes.rejoins = luck.random() < 0.5
    try:
        nodes.up(*names, memory=luck.choice(["2MiB", "64MiB"]))
        jobs = [
            nodes.job(name, rows=800, epochs=2, own=luck.random() < 0.3, loader=JOINT)
            for name in ("a", "b", luck.choice(names))
        ]
        nodes.go(*jobs)
        for step in range(3):
            half_read(nodes, 200 * (step + 1))
            let_happen(nodes, luck, luck.choice(names))
        for job in jobs:
            job.result(120)
    finally:
        nodes.down()
