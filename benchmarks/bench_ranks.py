"""Ranks of one node: threads by Lobster's Algorithm 1 (repaired) against a pool for all of them.

    python benchmarks/bench_ranks.py [--iterations 1000]

Simulated (papers/simulators/rank_queues.py). The unit is what a row of mean cost takes one thread.
"""

import argparse
import json
from dataclasses import replace

from harness import machine, report

from papers.simulators.rank_queues import Node, compare

NODES = {
    "8 ranks, 32 threads": Node(),
    "8 ranks, 64 threads": Node(threads=64, train=3.0),
    "8 ranks, 32 threads, rows of spread 1.2": Node(spread=1.2, train=8.0),
    "4 ranks, 6 threads": Node(ranks=4, threads=6, train=15.0),
    "2 ranks, 5 threads": Node(ranks=2, threads=5, uneven=0.3, train=9.0),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--iterations", type=int, default=1000)
    options = parser.parse_args()
    rows = []
    for name, node in NODES.items():
        for told in (False, True):
            found = compare(replace(node, told=told), options.iterations)
            rows.append(
                {
                    "node": name,
                    "costs_known": told,
                    "iteration": {way: round(one.lasts, 2) for way, one in found.items()},
                    "lateness": {way: round(one.lateness, 2) for way, one in found.items()},
                }
            )
            print(json.dumps(rows[-1]), flush=True)
    report("ranks", machine(), f"simulated, {options.iterations} iterations, one seed", rows)


if __name__ == "__main__":
    main()
