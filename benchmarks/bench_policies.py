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
import time

from harness import machine, report
from live_jobs import node, rates, reading, set_policy, status


def run(
    case: str, jobs: list[dict], policies: list[str], options: argparse.Namespace
) -> list[dict]:
    names = [job["name"] for job in jobs]
    found: dict[str, list[dict]] = {name: [] for name in policies}
    shares: dict[str, dict[str, dict]] = {}
    with node(options.cores, f"--cpu={options.cpu}%") as folder, reading(folder, jobs):
        time.sleep(3)
        draw = random.Random(options.seed)
        for _ in range(options.repeats):
            for name in draw.sample(policies, len(policies)):
                set_policy(name)
                time.sleep(options.settle)
                before = used(names)
                each, after = rates(options.seconds), used(names)
                spent = {n: (after[n] - before[n]) / options.seconds for n in names}
                found[name].append({"rates": each, "used": spent})
                shares[name] = {job["name"]: job["schedule"] for job in status()["jobs"]}
    return [row(case, name, names, found[name], shares[name]) for name in policies]


def used(names: list[str]) -> dict[str, float]:
    """Return what workers have computed for each job so far: its samples times their cost."""
    its = {job["name"]: job for job in status()["jobs"]}
    crews = {crew["jobs"][0]: crew["row_ms"] / 1000 for crew in status()["crews"] if crew["jobs"]}
    return {name: its[name]["delivered"] * crews[its[name]["id"]] for name in names}


def row(case: str, policy: str, names: list[str], runs: list[dict], shares: dict) -> dict:
    totals = [sum(one["rates"].values()) for one in runs]
    # What the machine gave to all workers together: others may have run on it meanwhile.
    given = [sum(one["used"].values()) for one in runs]
    found = {
        "case": case,
        "policy": policy,
        "total_per_s": round(statistics.median(totals), 1),
        "least": round(min(totals), 1),
        "most": round(max(totals), 1),
        "processors": round(statistics.median(given), 2),
        "per_s": {n: round(statistics.median(one["rates"][n] for one in runs), 1) for n in names},
        "share": {n: round(shares[n]["share"], 2) for n in names},
        "slowdown": {n: round(shares[n]["slowdown"], 2) for n in names},
    }
    print(json.dumps(found), flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--cpu", type=float, default=100.0, help="of the cores, in percent")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--settle", type=float, default=2.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", nargs="*", default=["steps", "costs"])
    options = parser.parse_args()
    row_s, batch, pool = 0.004, options.batch, options.cores * options.cpu / 100
    step_s = batch * row_s / pool  # the fastest alone takes all that the pool gives
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
    method = (
        f"pool of {pool:g} processors, {options.repeats} times {options.seconds} s each, policies "
        "in mixed order; medians"
    )
    report("policies", machine(), method, rows)


if __name__ == "__main__":
    main()
