"""Workloads as they are written, and what is wrong with them."""

import math

import pytest

from joader.errors import BadArgument
from joader.simulator.machine.workload import parsed

GOOD = """
seconds = 20
[machine]
cores = 4
memory = "1GiB"
policy = "throughput"
cpu = "75%"
contention = [1.0, 1.2]
[storage.disk]
latency_ms = 2
[[job]]
name = "a"
storage = "disk"
batch = 50
speed = 100
[[job]]
name = "b"
storage = "disk"
step_ms = 7.5
arrival_s = 3
weight = 2
"""


def test_what_is_written_is_what_is_simulated() -> None:
    found = parsed(GOOD, "good.toml")
    assert found.seconds == 20
    assert (found.machine.memory_bytes, found.machine.cpu_part) == (2**30, 0.75)
    assert [found.machine.cost(busy) for busy in (1, 2, 3)] == [1.0, 1.2, 1.2]
    assert [job.step_ms for job in found.jobs] == [500.0, 7.5]
    assert [job.arrival_s for job in found.jobs] == [0.0, 3.0]
    assert found.storages["disk"].latency_ms == 2.0
    assert parsed('[[job]]\nname = "a"', "w").seconds == math.inf


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("arrival_s = 3", "arrival_s = -3", r"job 2 \(b\): arrival_s is -3; it is a number >= 0"),
        ("speed = 100", "speed = 0", r"job 1 \(a\): speed is 0; it is a number > 0"),
        ("speed = 100", "speed = 100\nstep_ms = 1", "step_ms and speed; give one"),
        ('name = "b"', 'name = "a"', "two jobs are called 'a'"),
        ('name = "b"', "", "job 2 has no name"),
        ("[storage.disk]", "[storage.tape]", r"'disk', which there is not \(tape\)"),
        ("weight = 2", "weight = 0", "weight is 0.0; it is a number from"),
        ("weight = 2", "weight = nan", "weight is nan"),
        ("weight = 2", "weigth = 2", "has 'weigth', which is not known"),
        ('policy = "throughput"', 'policy = "mine"', "no policy 'mine'"),
        ('cpu = "75%"', 'cpu = "150%"', "is not a part of the cores"),
        ('memory = "1GiB"', 'memory = "much"', "is not a size"),
        ("arrival_s = 3", "node = 2", "job 'b' runs on node 2, and there are 1"),
        ("arrival_s = 3", "node = 0", "node is 0; it is 1 or more"),
        ("cores = 4", "cores = 4\nnodes = 0", "nodes is 0; it is above 0"),
        ("cores = 4", "cores = 4\nnetwork_mb_per_s = 0", "network_mb_per_s is 0; it is above 0"),
        ("cores = 4", "cores = 0", "cores is 0"),
        ("cores = 4", "cores = 2.5", "cores is 2.5; it is an integer"),
        ("contention = [1.0, 1.2]", "contention = [0]", "contention is 0; it is a number > 0"),
        ("latency_ms = 2", "mb_per_s = 0", "both are above 0"),
        ("batch = 50", "batch = 0", "batch is 0; it is 1 or more"),
        ("batch = 50", "rows = 7", "'a' and 'b' read dataset 'data' with rows 7 and 10000"),
        ("seconds = 20", "seconds = -1", "seconds is -1; it is a number > 0"),
        ("seconds = 20", "seconds = 1 1", "is not TOML"),
    ],
)
def test_what_cannot_be_is_said_with_its_place(old: str, new: str, words: str) -> None:
    assert old in GOOD
    with pytest.raises(BadArgument, match=words):
        parsed(GOOD.replace(old, new), "bad.toml")


def test_a_workload_needs_jobs() -> None:
    with pytest.raises(BadArgument, match="has no jobs"):
        parsed("seconds = 1", "empty.toml")
