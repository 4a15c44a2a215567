"""Who gets how much, live: jobs of different speeds and costs on one pool, under each policy.

Real jobs, a real daemon, rows that compute for a given processor time. Three jobs with steps of
1 : 3 : 9 on three datasets, of which the fastest alone would keep the whole pool busy; two jobs
whose rows cost 1 : 10. Policies are changed on the running daemon, in a mixed order, and each is
measured over the same jobs. With torch's loader, processes share processors as the kernel likes.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from harness import machine, report

JOB = """
import json, sys, time
import numpy as np
import joader

class Rows:
    def __init__(self, row_s): self.row_s = row_s
    def __len__(self): return 1 << 20
    def __getitem__(self, row):
        end = time.thread_time() + self.row_s
        while time.thread_time() < end: pass
        return np.full(64, row % 251, np.uint8)

its = json.loads(sys.argv[1])
loader = joader.DataLoader(
    Rows(its["row_s"]), batch_size=its["batch"], shuffle=True, num_workers=its["workers"],
    key=its["name"], job=its["name"], weight=its.get("weight", 1.0), deterministic=True,
)
for batch in loader:
    time.sleep(its["step_s"])
"""


def status() -> dict:
    text = subprocess.run(
        [sys.executable, "-m", "joader.cli.main", "status", "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(text.stdout)


def policy(name: str) -> None:
    command = [sys.executable, "-m", "joader.cli.main", "policy", name]
    subprocess.run(command, capture_output=True, check=True)


def counts(names: list[str]) -> dict[str, int]:
    return {job["name"]: job["delivered"] for job in status()["jobs"] if job["name"] in names}


def measured(names: list[str], seconds: float, settle_s: float) -> dict[str, float]:
    time.sleep(settle_s)
    before, begun = counts(names), time.monotonic()
    time.sleep(seconds)
    after, ended = counts(names), time.monotonic()
    return {name: (after[name] - before[name]) / (ended - begun) for name in names}


def run(
    case: str, jobs: list[dict], policies: list[str], options: argparse.Namespace
) -> list[dict]:
    names = [job["name"] for job in jobs]
    found: dict[str, list[dict[str, float]]] = {name: [] for name in policies}
    shares: dict[str, list] = {}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["JOADER_RUNTIME"] = folder
        up = ["up", "-d", "--memory=64MiB", f"--workers={options.cores}"]
        subprocess.run([sys.executable, "-m", "joader.cli.main", *up], check=True)
        script = Path(folder) / "job.py"
        script.write_text(JOB)
        running = [subprocess.Popen([sys.executable, str(script), json.dumps(job)]) for job in jobs]
        try:
            while len(counts(names)) < len(names):
                time.sleep(0.2)
            time.sleep(3)
            draw = random.Random(options.seed)
            for _ in range(options.repeats):
                for name in draw.sample(policies, len(policies)):
                    policy(name)
                    found[name].append(measured(names, options.seconds, options.settle))
                    shares[name] = [job["schedule"] for job in status()["jobs"]]
        finally:
            for one in running:
                one.kill()
            for one in running:
                one.wait()
            down = [sys.executable, "-m", "joader.cli.main", "down", "--force"]
            subprocess.run(down, check=False)
    rows = []
    for name in policies:
        each = {job: statistics.median(one[job] for one in found[name]) for job in names}
        totals = [sum(one.values()) for one in found[name]]
        rows.append(
            {
                "case": case,
                "policy": name,
                "total_per_s": round(statistics.median(totals), 1),
                "least": round(min(totals), 1),
                "most": round(max(totals), 1),
                "per_s": {job: round(rate, 1) for job, rate in each.items()},
                "predicted_per_s": [round(one["predicted_per_s"], 1) for one in shares[name]],
                "used": [round(one["used"], 2) for one in shares[name]],
            }
        )
        print(json.dumps(rows[-1]), flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--settle", type=float, default=2.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", nargs="*", default=["steps", "costs"])
    options = parser.parse_args()
    row_s, batch = 0.004, 16
    step_s = batch * row_s / options.cores  # the fastest alone takes all that the pool gives
    three = [
        {"name": name, "row_s": row_s, "batch": batch, "workers": options.cores, "step_s": step}
        for name, step in (("fast", step_s), ("middle", 3 * step_s), ("slow", 9 * step_s))
    ]
    two = [
        {"name": name, "row_s": cost, "batch": batch, "workers": options.cores, "step_s": 0.0}
        for name, cost in (("cheap", 0.001), ("dear", 0.01))
    ]
    rows: list[dict] = []
    if "steps" in options.cases:
        rows += run("steps 1:3:9", three, ["even", "throughput", "fair"], options)
    if "costs" in options.cases:
        rows += run("rows 1:10", two, ["fair", "throughput"], options)
    method = f"{options.repeats} times {options.seconds} s each, policies in mixed order; medians"
    report("policies", machine(), method, rows)


if __name__ == "__main__":
    main()
