"""A job that goes on from its state in a new process: nothing comes in an order that it has had."""

import json
from itertools import combinations
from typing import Any

import pytest

from tests.cluster.nodes import NodeJob, Nodes
from tests.processes.jobs import wait_until

ROWS, BATCH = 600, 10
# Reads as it is told, line by line.
PUPPET = f"""
import json, sys, time
import joader

class Rows:
    def __len__(self):
        return {ROWS}

    def __getitem__(self, row):
        time.sleep(0.0005)
        return row

loader = joader.DataLoader(
    Rows(), batch_size={BATCH}, shuffle=True, deterministic=True, num_workers=1, collate_fn=list
)
batches = iter(())
print(json.dumps("ready"), flush=True)
for line in sys.stdin:
    match json.loads(line):
        case {{"go on from": dict(state)}}:
            loader.load_state_dict(state)
            batches = iter(loader)
            answer = None
        case "begin":
            batches = iter(loader)
            answer = None
        case "state":
            answer = loader.state_dict()
        case int(count):
            answer = [row for _ in range(count) for row in next(batches)]
        case "rest":
            answer = [row for batch in batches for row in batch]
    print(json.dumps(answer), flush=True)
loader.close()
"""


class Puppet:
    """A job that reads as it is told."""

    def __init__(self, nodes: Nodes, name: str) -> None:
        (nodes.folder / "puppet.py").write_text(PUPPET)
        self.job: NodeJob = nodes.start(name, [str(nodes.folder / "puppet.py")])
        self.job.ready()

    def does(self, what: object) -> Any:
        stdin, stdout = self.job.process.stdin, self.job.process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps(what) + "\n")
        stdin.flush()
        line = stdout.readline()
        assert line, self.job.process.communicate()[1]
        return json.loads(line)

    def end(self) -> None:
        self.job.result()


def whole_pass(puppet: Puppet) -> list[int]:
    puppet.does("begin")
    rows: list[int] = puppet.does("rest")
    assert sorted(rows) == list(range(ROWS))
    return rows


def alike(one: list[int], other: list[int]) -> float:
    """Return which part of the pairs of rows comes in the same order in both; by chance half."""
    place = {row: place for place, row in enumerate(other)}
    pairs = [(a, b) for a, b in combinations(one, 2) if a in place and b in place]
    return sum(place[a] < place[b] for a, b in pairs) / len(pairs)


@pytest.mark.short
@pytest.mark.slow
def test_who_resumes_alone_on_its_node_reads_nothing_in_the_order_it_had(nodes: Nodes) -> None:
    """A job of the other node drives the generation in which its next pass begins."""
    nodes.up("a", "b")
    other, before = Puppet(nodes, "b"), Puppet(nodes, "a")
    other.does("begin")
    driven = other.does(1)
    wait_until(lambda: nodes.status("a")["cluster"]["nodes"][1]["recipes"] == 1)
    before.does("begin")
    early = before.does(24)
    state = before.does("state")
    before.end()
    resumed = Puppet(nodes, "a")
    resumed.does({"go on from": state})
    assert sorted(early + resumed.does("rest")) == list(range(ROWS))
    resumed.does("begin")
    again = resumed.does("rest")
    assert nodes.status("b")["jobs"][0]["flow"]["to_come"] > ROWS // 2  # still the same generation
    driven += other.does("rest")
    for puppet in (resumed, other):
        puppet.end()
    assert alike(early, driven) > 0.95  # it followed what the other drives
    # 28,680 pairs: 0.5 by chance, with a standard deviation of 0.022.
    assert abs(alike(early, again) - 0.5) < 0.11


@pytest.mark.short
@pytest.mark.slow
def test_no_order_comes_again_from_a_daemon_that_was_started_again(nodes: Nodes) -> None:
    """The leader's node reads nothing; the job lives on."""
    nodes.up("b", "a")
    job = Puppet(nodes, "a")
    orders = [whole_pass(job) for _ in range(2)]
    nodes.kill("a")
    nodes.up("a")
    orders += [whole_pass(job) for _ in range(2)]
    job.end()
    assert all(abs(alike(*two) - 0.5) < 0.11 for two in combinations(orders, 2))


@pytest.mark.short
@pytest.mark.slow
def test_no_order_comes_again_on_another_node_that_knows_nothing_of_it(nodes: Nodes) -> None:
    nodes.up("b", "a")
    before = Puppet(nodes, "b")
    orders = [whole_pass(before) for _ in range(2)]
    state = before.does("state")
    before.end()
    job, other = Puppet(nodes, "a"), Puppet(nodes, "a")
    theirs = [whole_pass(other)]
    job.does({"go on from": state})
    orders.append(job.does("rest"))
    for _ in range(2):
        other.does("begin")
        theirs.append(other.does(30))
        orders.append(whole_pass(job))
        theirs[-1] += other.does("rest")
    job.end()
    other.end()
    assert all(abs(alike(*two) - 0.5) < 0.11 for two in combinations(orders, 2))
    # Another job may read what it has read there: orders of different jobs depend on each other.
    assert all(abs(alike(*two) - 0.5) < 0.11 for two in combinations(theirs, 2))
