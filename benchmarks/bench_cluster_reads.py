"""How often storage is read in later epochs, by how much of the data a cluster's memory holds.

    PYTHONPATH=. python benchmarks/bench_cluster_reads.py [--rows 6000] [--epochs 4]

Three nodes on this machine, each with a daemon and a job; rows of 3 kB and 2 ms. Jobs meet at the
end of every epoch, and what was prepared in it by all workers of all nodes is counted. The model is
`simulator.many_nodes`, which keeps rows where `schedule.nodes.populating` says: what is not kept is
read again. All ids and bytes are checked.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

from harness import machine, report

from joader.simulator.many_nodes import Cluster, one_pass
from tests.cluster.nodes import NodeJob, Nodes

NODES = ("a", "b", "c")
SLOT = 3072
JOB = """
import json, os, sys, time
import numpy as np
import joader

ROWS, EPOCHS, ME, NODES = json.loads(sys.argv[1])

def expected(row):
    return np.random.default_rng(row).integers(0, 256, 3050, np.uint8)

expected(0)

class Rows:
    def __len__(self):
        return ROWS

    def __getitem__(self, row):
        time.sleep(0.002)
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
    seen = []
    for arrays, rows in loader:
        for array, row in zip(arrays, rows):
            assert np.array_equal(np.asarray(array), expected(row)), row
            seen.append(int(row))
    assert sorted(seen) == list(range(ROWS))
    open(f"{ME}-{epoch}", "w").close()
    while not all(os.path.exists(f"{name}-{epoch}") for name in NODES):
        time.sleep(0.01)
    print(json.dumps(len(open("prepared").read().split())), flush=True)
    time.sleep(0.5)
loader.close()
"""


def prepared_each(rows: int, epochs: int, room: float) -> list[int]:
    """Return how many rows all nodes prepared in each epoch; together they have room for a part."""
    # Beside what is kept, batches in hand and rows on their way need some room.
    memory = int(room * rows * SLOT / len(NODES)) + (1 << 19)
    with tempfile.TemporaryDirectory() as folder:
        nodes = Nodes(Path(folder))
        try:
            nodes.up(*NODES, memory=str(memory))
            (nodes.folder / "job.py").write_text(JOB)
            jobs = [job(nodes, name, rows, epochs) for name in NODES]
            nodes.go(*jobs)
            results = [one.result(900) for one in jobs]
            counts = results[0]
        finally:
            nodes.down()
    return [after - before for before, after in zip([0, *counts], counts, strict=False)]


def job(nodes: Nodes, name: str, rows: int, epochs: int) -> NodeJob:
    options = json.dumps([rows, epochs, name, NODES])
    command = [sys.executable, str(nodes.folder / "job.py"), options]
    found = NodeJob(command, nodes.folder, nodes.environment(name))
    nodes.jobs.append(found)
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=6000)
    parser.add_argument("--epochs", type=int, default=4)
    options = parser.parse_args()
    found = []
    for name, room in (("all", 1.1), ("a third", 1 / 3)):
        model = one_pass("cached", options.rows, Cluster(len(NODES), 16, min(1.0, room)))
        predicted = int(model.read.sum())
        each = prepared_each(options.rows, options.epochs, room)
        print(f"memory for {name}: prepared {each}, model {predicted} after the first", flush=True)
        found.append({"memory": name, "prepared": each, "model": predicted})
    method = f"{options.rows} rows, {len(NODES)} nodes on one machine, counts"
    report("cluster_reads", machine(), method, found)


if __name__ == "__main__":
    main()
