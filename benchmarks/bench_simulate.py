"""The simulator against the live daemon: the same jobs, samples per second and waiting.

Live first: real jobs under each policy, in mixed order. What a row costs and what the daemon itself
takes are read from the daemon and given to the simulator, which knows neither; all else is the
workload. With --plot, also what each job had of the workers' time, live, while jobs come and
policies change.
"""

import argparse
import json
import os
import random
import statistics
import time
from dataclasses import dataclass

from harness import machine, report
from live_jobs import node, processor_s, rates, reading, set_policy, status

from joader.cli.simulate import draw_timeline
from joader.simulator.machine.play import play
from joader.simulator.machine.workload import JobSpec, MachineSpec, Workload

POLICIES = ("fair", "throughput", "even")


@dataclass
class Glance:
    at_s: float
    used: dict[str, float]
    per_s: dict[str, float]


@dataclass
class Live:
    policy: str
    glances: list[Glance]


def glances(seconds: float, every_s: float = 0.5) -> list[Glance]:
    found, begun = [], time.monotonic()
    while (at_s := time.monotonic() - begun) < seconds:
        its = {job["name"]: job["schedule"] for job in status()["jobs"] if job["schedule"]}
        found.append(
            Glance(
                at_s,
                {name: one["used"] for name, one in its.items()},
                {name: one["per_s"] for name, one in its.items()},
            )
        )
        time.sleep(every_s)
    return found


def live(jobs: list[dict], options: argparse.Namespace) -> tuple[dict, float, float, list[Live]]:
    """Return what each policy gave, what a row cost, what the daemon took, and a timeline."""
    found: dict[str, list[dict]] = {name: [] for name in POLICIES}
    drawn: list[Live] = []
    with node(options.cores, f"--cpu={options.cpu}%") as folder, reading(folder, jobs):
        time.sleep(3)
        pid, draw = status()["pid"], random.Random(0)
        before, begun = processor_s([pid]), time.monotonic()
        for _ in range(options.repeats):
            for name in draw.sample(POLICIES, len(POLICIES)):
                set_policy(name)
                time.sleep(options.settle)
                each = rates(options.seconds)
                shown = status()
                waits = {j["name"]: 1 - 1 / j["schedule"]["slowdown"] for j in shown["jobs"]}
                found[name].append({"rates": each, "waits": waits})
        daemon = (processor_s([pid]) - before) / (time.monotonic() - begun)
        row_ms = statistics.median(crew["row_ms"] for crew in status()["crews"])
        if options.plot:
            for name in ("even", "fair", "throughput"):
                set_policy(name)
                drawn.append(Live(name, glances(10.0)))
    return found, row_ms, daemon, drawn


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--cpu", type=float, default=100.0, help="of the cores, in percent")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--settle", type=float, default=2.0)
    parser.add_argument("--plot", default="")
    options = parser.parse_args()
    pool = options.cores * options.cpu / 100
    steps = {"fast": 1.0, "middle": 3.0, "slow": 9.0}
    step_s = options.batch * 0.004 / pool
    jobs = [
        {
            "name": name,
            "row_s": 0.004,
            "batch": options.batch,
            "workers": options.cores,
            "step_s": times * step_s,
        }
        for name, times in steps.items()
    ]
    found, row_ms, daemon, drawn = live(jobs, options)
    rows = []
    for policy, runs in found.items():
        specs = tuple(
            JobSpec(
                name=job["name"],
                dataset=job["name"],
                rows=1 << 20,
                batch=options.batch,
                row_ms=row_ms,
                sample_kb=1.0,
                step_ms=1000 * job["step_s"],
                workers=options.cores,
            )
            for job in jobs
        )
        spec = MachineSpec(options.cores, "64MiB", policy, f"{options.cpu}%", daemon=daemon)
        outcome = play(Workload(specs, spec, seconds=40.0))
        for one in outcome.jobs:
            measured = statistics.median(run["rates"][one.name] for run in runs)
            waits = statistics.median(run["waits"][one.name] for run in runs)
            rows.append(
                {
                    "policy": policy,
                    "job": one.name,
                    "live_per_s": round(measured, 1),
                    "simulated_per_s": round(one.per_s, 1),
                    "live_waiting": round(waits, 2),
                    "simulated_waiting": round(one.waiting, 2),
                }
            )
            print(json.dumps(rows[-1]), flush=True)
        total = statistics.median(sum(run["rates"].values()) for run in runs)
        rows.append(
            {"policy": policy, "total_live": round(total, 1), "simulated": round(outcome.per_s, 1)}
        )
        print(json.dumps(rows[-1]), flush=True)
    if options.plot:
        draw_timeline(drawn, pool, options.plot)
    method = f"a row computes {row_ms:.2f} ms, the daemon took {daemon:.3f} processors; medians"
    report("simulate", machine(), method, rows)


if __name__ == "__main__":
    main()
