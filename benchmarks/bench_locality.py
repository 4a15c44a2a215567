"""One job on three nodes, a rank on each: how many rows go from one node to another.

    PYTHONPATH=. python benchmarks/bench_locality.py [--steps 200] [--local 32 64 128]

Real daemons and ranks on one machine, one pass over rows of 1 ms. *moved*: part of a step that a
rank reads although its home is another node, by the ids that ranks have read: median and mean over
steps, without the first 20. *fetched*: rows that came over the network, as the daemons count them,
by all rows delivered; rows that are compared at first are prepared on both sides instead. The
locality paper expects a median of 5.2, 3.7 and 2.9 % (`joader reproduce locality-imbalance`).
*uniform*: the same with `locality=False`.

*step_bytes*: the message that tells a rank a step of a thousand ranks, encoded, by a real plan.
"""

import argparse
import json
import os
import statistics
import tempfile
from pathlib import Path

import numpy as np
from harness import machine, report

from joader.engine.courses import Courses
from joader.engine.plan import Followed
from joader.engine.samplers import Samplers, sampler_of
from joader.messages import Begin
from joader.messages.ranks import Grant, Steps
from joader.sampling.job_rows import JobRows
from joader.schedule.nodes.placement import Node, homes
from joader.wire import frame
from tests.cluster.nodes import Nodes
from tests.cluster.rank_jobs import rows_of, start, steps_of

NAMES = "abc"
SKIPPED = 20
PAPER = {32: 5.2, 64: 3.7, 128: 2.9}


def played(local: int, steps: int, locality: bool) -> dict[str, object]:
    rows = steps * local * len(NAMES)
    with tempfile.TemporaryDirectory() as folder:
        nodes = Nodes(Path(folder))
        try:
            nodes.up(*NAMES, memory="512MiB")
            ranks = start(
                nodes,
                NAMES,
                rows=rows,
                batch_size=local,
                slow_s=0.001,
                loader={"locality": locality, "timeout": 120},
                states=False,
            )
            nodes.go(*ranks)
            results = [rank.result(1200) for rank in ranks]
            found = steps_of(results)
            clusters = [nodes.status(name)["cluster"] for name in NAMES]
        finally:
            nodes.down()
    assert sorted(rows_of(found)) == list(range(rows))
    cluster = [Node(node["name"], node["cores"]) for node in clusters[0]["nodes"]]
    home = homes(np.arange(rows), sorted(cluster, key=lambda node: node.name))
    moved = [
        100
        * sum(int(home[row]) != rank for rank, part in enumerate(parts) for row in part)
        / (local * len(NAMES))
        for parts in found[SKIPPED:]
    ]
    return {
        "local_batch": local,
        "locality": locality,
        "steps": len(moved),
        "moved_median_percent": round(statistics.median(moved), 2),
        "moved_mean_percent": round(statistics.fmean(moved), 2),
        "paper_median_percent": PAPER.get(local) if locality else None,
        "fetched_percent": round(100 * sum(one["fetched"] for one in clusters) / rows, 2),
        "compared": sum(one["compared"] for one in clusters),
        "fetched_bytes": sum(one["fetched_bytes"] for one in clusters),
    }


def step_bytes(ranks: int, local: int) -> dict[str, object]:
    """Return how large the words are that tell a node of a step."""
    rows = JobRows(np.arange(1_281_167), 1_281_167)
    plan = Followed(1, rows, Samplers(sampler_of, 1, stream=2**55 + 1), "job", None)
    plan.begin(Begin(1), life=1)
    courses, sizes = Courses(rows), []
    for number in range(rows.rows.size // (ranks * local)):
        drawn = plan.drew(plan.sampler.draw({plan.name: ranks * local})[plan.name]).places
        piece = courses.pack(drawn, 0, 7, plan)
        assert np.array_equal(courses.unpack(piece), drawn)
        sizes.append(len(frame(Steps(5, 1, number, (piece,), 2**62, 2**55))))
    grant = len(frame(Grant(5, 1, 1000)))
    return {"ranks": ranks, "local_batch": local, "step_bytes": max(sizes), "grant_bytes": grant}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--local", type=int, nargs="+", default=[32, 64, 128])
    options = parser.parse_args()
    rows: list[dict[str, object]] = [step_bytes(1024, 32)]
    print(json.dumps(rows[-1]), flush=True)
    for local in options.local:
        for locality in (True, False) if local == options.local[0] else (True,):
            rows.append(played(local, options.steps, locality))
            print(json.dumps(rows[-1]), flush=True)
    load = f"{os.getloadavg()[0]:.0f}"
    method = f"{options.steps} steps a pass, less {SKIPPED}; load of the machine {load}; counts"
    report("locality", machine(), method, rows)


if __name__ == "__main__":
    main()
