"""Jobs with order="joint" on several nodes draw together, and go on if who draws for them is gone.

Every job checks all ids and all bytes that it gets, so a test only has to let it end.
"""

import signal

import pytest

from tests.cluster.nodes import Nodes
from tests.cluster.test_faults import LONGEST_S, half_read, longest_s
from tests.processes.jobs import wait_until

JOINT = {"order": "joint"}
COUPLED = "is drawn on node a"


def test_joint_jobs_on_two_nodes_read_the_same_rows_at_the_same_time(nodes: Nodes) -> None:
    nodes.up("a", "b", memory="1MiB")  # for a fifth of the rows: who comes later finds nothing
    jobs = [nodes.job(name, rows=1600, loader=JOINT) for name in ("a", "b")]
    nodes.go(*jobs)
    for job in jobs:
        job.result()
    print(sum(nodes.prepared().values()) / 3200, nodes.log("b"))
    # 128 are compared, and what comes before that; apart it is nearly 2 × 1600.
    assert sum(nodes.prepared().values()) < 1.4 * 1600
    assert COUPLED in nodes.log("b")
