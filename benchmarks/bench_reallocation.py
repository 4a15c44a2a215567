"""What a change of shares costs the jobs that are running: the longest gap between two batches.

One job needs little and two want all; ten times the weight of one of these changes, or a fourth job
comes or goes, so that all shares are worked out anew. The longest gap of each job within a second
of each change is compared with the 99th percentile of all its gaps before; so are the longest in
ten seconds in which nothing changes (`unchanged`: what they are more is the machine's), and in the
second after each (`later`: what they are more comes of the new share, not of the change).
Besides: how well a ceiling on processors is kept over 10 s.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

from harness import machine, report
from live_jobs import node, processor_s, reading, set_weight, status


def gaps(path: Path) -> list[tuple[float, float]]:
    """Return when batches came, and how long after the one before; the last line may be cut."""
    at = [float(line) for line in path.read_text().split("\n")[:-1]]
    return [(after, after - before) for before, after in pairwise(at)]


def changes(options: argparse.Namespace) -> list[dict]:
    row_s, batch = 0.004, 4
    with node(options.cores, f"--cpu={options.cpu}%") as folder:
        jobs = [
            {
                "name": name,
                "row_s": row_s,
                "batch": batch,
                "workers": options.cores,
                "step_s": step_s,
                "log": str(folder / name),
            }
            for name, step_s in (("steady", 0.25), ("greedy", 0.0), ("other", 0.0))
        ]
        moments = []
        with reading(folder, jobs):
            time.sleep(options.before)
            script = folder / "job.py"
            comes = {"name": "guest", "row_s": row_s, "batch": batch, "workers": 1, "step_s": 0.0}
            guest = None
            for number in range(10):
                if number % 4 == 0:
                    set_weight("greedy", 4.0)
                elif number % 4 == 1:
                    guest = subprocess.Popen([sys.executable, str(script), json.dumps(comes)])
                    while all(job["name"] != "guest" for job in status()["jobs"]):
                        time.sleep(0.02)
                elif number % 4 == 2 and guest is not None:
                    guest.kill()
                    guest.wait()
                else:
                    set_weight("greedy", 1.0)
                moments.append(time.monotonic())
                time.sleep(options.pause)
            if guest is not None:
                guest.kill()
                guest.wait()
        rows = []
        for job in jobs:
            found = gaps(Path(job["log"]))
            before = sorted(gap for at, gap in found if at < moments[0])
            p99 = before[int(0.99 * (len(before) - 1))]
            quiet = [moments[0] - 1.0 - second for second in range(10)]
            later = [moment + 1.0 for moment in moments]
            excess, usual, after = (
                [longest(found, at) - p99 for at in some] for some in (moments, quiet, later)
            )
            rows.append(
                {
                    "job": job["name"],
                    "batches_before": len(before),
                    "p99_ms": round(1000 * p99, 1),
                    "median_excess_ms": round(1000 * statistics.median(excess), 1),
                    "unchanged_excess_ms": round(1000 * statistics.median(usual), 1),
                    "later_excess_ms": round(1000 * statistics.median(after), 1),
                    "excess_ms": [round(1000 * one) for one in excess],
                }
            )
            print(json.dumps(rows[-1]), flush=True)
    return rows


def longest(found: list[tuple[float, float]], moment: float) -> float:
    """Return the longest gap that lasted or began within a second of a moment."""
    return max((gap for at, gap in found if moment <= at < moment + 1.0 + gap), default=0.0)


def ceiling(options: argparse.Namespace) -> list[dict]:
    rows = []
    for part in options.ceilings:
        with node(options.cores, f"--cpu={part}%") as folder:
            job = {"name": "a", "row_s": 0.004, "batch": 16, "workers": options.cores, "step_s": 0}
            with reading(folder, [job, {**job, "name": "b"}]):
                time.sleep(2)
                shown = status()
                pids = [shown["pid"], *shown["worker_processes"]]
                before, begun = processor_s(pids), time.monotonic()
                time.sleep(10)
                used = (processor_s(pids) - before) / (time.monotonic() - begun)
                rows.append({"ceiling": part, "used": round(100 * used / options.cores, 1)})
                print(json.dumps(rows[-1]), flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--cpu", type=float, default=100.0, help="of the cores, in percent")
    parser.add_argument("--before", type=float, default=25.0)
    parser.add_argument("--ceilings", type=int, nargs="*", default=[50, 80])
    parser.add_argument("--pause", type=float, default=2.2)
    options = parser.parse_args()
    rows = [*changes(options), *ceiling(options)]
    report("reallocation", machine(), "one run; gaps between batches as jobs see them", rows)


if __name__ == "__main__":
    main()
