"""How often storage is read in later epochs, by how much of the data a cluster's memory holds.

    PYTHONPATH=. python benchmarks/bench_cluster_reads.py [--rows 6000] [--epochs 4] [--row-ms 2]

Three nodes on this machine, each with a daemon, one worker and a job; rows of 3 kB that sleep, so
that processors are free. Jobs meet at the end of every epoch; what was prepared in it by all
workers of all nodes is counted, and how long it took. Beside it what `joader simulate` says of the
same workload before it runs, and a model, `simulator.many_nodes`, which keeps rows where
`schedule.nodes.populating` says and knows nothing of rows that are compared, 64 by each node with
each other. All ids and bytes are checked.
"""

import argparse
import json
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness import machine, report

from joader.simulator.machine.play import Outcome, play
from joader.simulator.machine.workload import JobSpec, MachineSpec, Storage, Workload
from papers.simulators.many_nodes import Cluster, one_pass
from tests.cluster.nodes import NodeJob, Nodes

NODES = ("a", "b", "c")
SLOT = 3072
JOB = """
import json, os, sys, time
import numpy as np
import joader

ROWS, EPOCHS, ME, NODES, ROW_S = json.loads(sys.argv[1])

def expected(row):
    return np.random.default_rng(row).integers(0, 256, 3050, np.uint8)

expected(0)

class Rows:
    def __len__(self):
        return ROWS

    def __getitem__(self, row):
        time.sleep(ROW_S)
        with open("prepared", "a") as file:
            file.write(f"{row}\\n")
        return expected(row), row

def apart(samples):
    return [values for values, _ in samples], [row for _, row in samples]

loader = joader.DataLoader(
    Rows(), batch_size=16, shuffle=True, deterministic=True, num_workers=1, collate_fn=apart
)
print(json.dumps("ready"), flush=True)
while not os.path.exists("go"):
    time.sleep(0.01)
for epoch in range(EPOCHS):
    seen, began = [], time.monotonic()
    for arrays, rows in loader:
        for array, row in zip(arrays, rows):
            assert np.array_equal(np.asarray(array), expected(row)), row
            seen.append(int(row))
    took = time.monotonic() - began
    assert sorted(seen) == list(range(ROWS))
    open(f"{ME}-{epoch}", "w").close()
    while not all(os.path.exists(f"{name}-{epoch}") for name in NODES):
        time.sleep(0.01)
    print(json.dumps([len(open("prepared").read().split()), took]), flush=True)
    time.sleep(0.5)
loader.close()
"""


def memory_of(rows: int, room: float) -> int:
    """Return the bytes of each node: what is kept, batches in hand, rows on their way."""
    return int(room * rows * SLOT / len(NODES)) + (1 << 19)


def simulated(rows: int, epochs: int, room: float, row_s: float) -> list[tuple[int, float]]:
    """Return the same as `played`, before anything runs."""
    found = [_simulated(rows, epoch, room, row_s) for epoch in range(1, epochs + 1)]
    counts = [sum(node.prepared for node in one.nodes) for one in found]
    ends = [one.seconds for one in found]
    new = [now - before for before, now in zip([0, *counts], counts, strict=False)]
    took = [now - before for before, now in zip([0.0, *ends], ends, strict=False)]
    return list(zip(new, took, strict=True))


def _simulated(rows: int, epochs: int, room: float, row_s: float) -> Outcome:
    node = MachineSpec(nodes=len(NODES), memory=str(memory_of(rows, room)))
    job = JobSpec("", "d", rows, row_ms=0.1, sample_kb=3.05, storage="sleep", batch=16, workers=1)
    jobs = [
        replace(job, name=name, node=number, epochs=epochs) for number, name in enumerate(NODES, 1)
    ]
    return play(Workload(tuple(jobs), node, {"sleep": Storage(latency_ms=1000 * row_s)}))


def played(rows: int, epochs: int, room: float, row_s: float) -> list[tuple[int, float]]:
    """Return what all nodes prepared in each epoch, and the seconds of the node that took longest.

    `room`: for which part of the rows all nodes have room together.
    """
    memory = memory_of(rows, room)
    with tempfile.TemporaryDirectory() as folder:
        nodes = Nodes(Path(folder))
        try:
            nodes.up(*NODES, memory=str(memory))
            (nodes.folder / "job.py").write_text(JOB)
            jobs = [job(nodes, [rows, epochs, name, NODES, row_s]) for name in NODES]
            nodes.go(*jobs)
            results = [one.result(900) for one in jobs]
        finally:
            nodes.down()
    counts = [count for count, _ in results[0]]
    longest = [max(seconds for _, seconds in each) for each in zip(*results, strict=True)]
    new = [after - before for before, after in zip([0, *counts], counts, strict=False)]
    return list(zip(new, longest, strict=True))


def job(nodes: Nodes, options: list[Any]) -> NodeJob:
    command = [sys.executable, str(nodes.folder / "job.py"), json.dumps(options)]
    found = NodeJob(command, nodes.folder, nodes.environment(options[2]))
    nodes.jobs.append(found)
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=6000)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--row-ms", type=float, default=2.0)
    options = parser.parse_args()
    found = []
    for name, room in (("all", 1.1), ("a third", 1 / 3)):
        model = one_pass("cached", options.rows, Cluster(len(NODES), 16, min(1.0, room)))
        again, row_s = int(model.read.sum()), options.row_ms / 1000
        before = simulated(options.rows, options.epochs, room, row_s)
        each = played(options.rows, options.epochs, room, row_s)
        for epoch, (prepared, took_s) in enumerate(each):
            modelled, (foreseen, foreseen_s) = again if epoch else options.rows, before[epoch]
            print(
                f"memory for {name}, epoch {epoch}: {prepared} prepared (simulated {foreseen}, "
                f"model {modelled}), {took_s:.1f} s (simulated {foreseen_s:.1f} s)",
                flush=True,
            )
            row = {"prepared": prepared, "simulated": foreseen, "model": modelled}
            row |= {"s": took_s, "simulated_s": foreseen_s}
            found.append({"memory": name, "epoch": epoch, **row})
    method = f"{options.rows} rows, {len(NODES)} nodes on one machine, counts"
    report("cluster_reads", machine(), method, found)


if __name__ == "__main__":
    main()
