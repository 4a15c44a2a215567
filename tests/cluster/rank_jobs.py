"""Ranks of one job as processes on several nodes, and what a test asks of their steps."""

import json
import socket
from collections.abc import Sequence
from typing import Any

from tests.cluster.nodes import NodeJob, Nodes

RANK = """
import hashlib, json, os, sys, time
import numpy as np
import joader

OPTIONS = json.loads(sys.argv[1])

def expected(row):
    return np.random.default_rng(row).integers(0, 256, 3000 + row % 7, np.uint8)

expected(0)  # numpy.random is loaded now: what code reads is part of a dataset's name

class Rows:
    def __init__(self, length, slow_s):
        self.length, self.slow_s = length, slow_s

    def __len__(self):
        return self.length

    def __getitem__(self, row):
        time.sleep(self.slow_s)
        with open("prepared", "a") as file:
            file.write(f"{row}\\n")
        return expected(row), row

def apart(samples):
    return [values for values, _ in samples], [row for _, row in samples]

def say(value):
    print(json.dumps(value), flush=True)

data = Rows(OPTIONS["rows"], OPTIONS.get("slow_s", 0.001))
options = {"shuffle": True, "timeout": 20, **OPTIONS.get("loader", {})}
loader = joader.DataLoader(
    data, batch_size=OPTIONS.get("batch_size", 8), deterministic=True, num_workers=1,
    collate_fn=apart, job="train", **options,
)
if "state" in OPTIONS:
    loader.load_state_dict(OPTIONS["state"])
say("ready")
while not os.path.exists("go"):
    time.sleep(0.01)
for epoch in range(OPTIONS.get("epochs", 1)):
    steps, states, state = [], [], None
    passing = iter(loader)
    for arrays, rows in passing:
        for array, row in zip(arrays, rows):
            assert np.array_equal(np.asarray(array), expected(row)), row
        steps.append([int(row) for row in rows])
        if OPTIONS.get("states", True):
            state = loader.state_dict()
            # Short, so that a rank never waits for who reads what it prints.
            states.append(hashlib.blake2b(json.dumps(state).encode(), digest_size=4).hexdigest())
        time.sleep(OPTIONS.get("rest_s", 0.0))
        if len(steps) in OPTIONS.get("bereaved_after", ()):
            os.kill(passing.connection.nursery._process.pid, 9)
        if len(steps) == OPTIONS.get("steps"):
            break
        if len(steps) == OPTIONS.get("wait_after"):
            say("waits")
            sys.stdin.readline()
    say([steps, states, state])
stats = loader.stats()
say({"delivered": stats.delivered, "repeated": stats.repeated, "length": len(loader)})
loader.close()
"""


def free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def start(nodes: Nodes, places: Sequence[str], **options: Any) -> list[NodeJob]:
    """Start the ranks of a job, each on the node of its place; `of_rank`: options of some."""
    script = nodes.folder / "rank.py"
    script.write_text(RANK)
    port = free_port()
    # Plain processes do not know how many of them are on a node.
    told = options.pop("launcher", "torchrun") == "torchrun"
    each = options.pop("of_rank", {})
    return [
        nodes.start(
            name,
            [str(script), json.dumps({**options, **each.get(rank, {})})],
            RANK=str(rank),
            WORLD_SIZE=str(len(places)),
            MASTER_ADDR="127.0.0.1",
            MASTER_PORT=port,
            OMP_NUM_THREADS="1",
            **({"LOCAL_WORLD_SIZE": str(places.count(name))} if told else {}),
        )
        for rank, name in enumerate(places)
    ]


def steps_of(results: list[list[Any]], number: int = 0) -> list[list[list[int]]]:
    """Return by step and rank the rows of a pass: equally many a rank, and the states the same."""
    passes = [result[number] for result in results]
    steps = [list(parts) for parts in zip(*(steps for steps, *_ in passes), strict=True)]
    for parts in steps:
        assert len({len(part) for part in parts}) == 1
    for states in zip(*(states for _, states, _ in passes), strict=True):
        assert all(state == states[0] for state in states)
    return steps


def rows_of(steps: list[list[list[int]]]) -> list[int]:
    return [row for parts in steps for part in parts for row in part]
