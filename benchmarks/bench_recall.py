"""How long a new job's share is wrong, if its recipe is known from before and if it is not.

Two jobs read; a third comes, whose first step takes long, as that of a GPU job does. Its share is
looked at all the time. What it is in the end is right; how long it is off by more than a tenth
before that is counted, but for moments in which it asks for nothing. *Without*: nobody has read the
recipe before. *With*: the daemon ends, and the next one starts with what that one has learned.

Simulated on four processors, and live, where the pool is a part of the cores (--cpu), so that it is
there at all times on a machine that others use, too.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import pairwise

from harness import machine, report
from live_jobs import node, reading, status

from joader.schedule.experience import Experience
from joader.simulator.machine.play import play
from joader.simulator.machine.workload import JobSpec, MachineSpec, Workload

COMES_S, LOOK_S, FAR = 5.0, 0.05, 0.1


def off_s(looks: list[tuple[float, float]], last: int) -> tuple[float, float]:
    """Return the share in the end, and how long it was another."""
    end = statistics.median(share for _, share in looks[-last:])
    gaps = pairwise(looks)
    wrong = [b - a for (a, share), (b, _) in gaps if share and abs(share / end - 1) > FAR]
    return end, sum(wrong)


def simulated(policy: str, step_ms: float, row_ms: float, first_ms: float) -> dict:
    common = {"rows": 400_000, "workers": 4, "batch": 64}
    jobs = (
        JobSpec("a", dataset="a", row_ms=8.0, step_ms=200.0, **common),
        JobSpec("b", dataset="b", row_ms=4.0, step_ms=100.0, **common),
        JobSpec(
            "new",
            dataset="c",
            row_ms=row_ms,
            step_ms=step_ms,
            first_step_ms=first_ms,
            arrival_s=COMES_S,
            **common,
        ),
    )
    workload = Workload(jobs, MachineSpec(cores=4, policy=policy), seconds=COMES_S + 25)
    found, experience = {"policy": policy, "step_ms": step_ms, "first_ms": first_ms}, Experience()
    for name in ("without", "with"):
        outcome = play(workload, 0, LOOK_S, experience=experience)
        looks = [(one.at_s, one.share.get("new", 0.0)) for one in outcome.glances]
        looks = [one for one in looks if one[0] > COMES_S + 1e-9]
        end, wrong_s = off_s(looks, 100)
        found |= {f"{name}_s": round(wrong_s, 3), f"share_{name}": round(end, 3)}
        experience = Experience(experience.all())
    return found


def live(options: argparse.Namespace, number: int) -> dict:
    found: dict = {"number": number}
    common = {"batch": 8, "workers": options.cores, "row_s": 0.004}
    others = [{"name": name, "step_s": 0.0, **common} for name in ("a", "b")]
    guest = {"name": f"new {number}", "step_s": 0.5, "first_s": options.first, **common}
    for name in ("without", "with"):
        with (
            node(options.cores, f"--cpu={options.cpu}%", f"--policy={options.policy}") as folder,
            reading(folder, others),
        ):
            time.sleep(3.0)
            script = folder / "job.py"
            job = subprocess.Popen([sys.executable, str(script), json.dumps(guest)])
            looks, until = [], time.monotonic() + options.seconds
            while time.monotonic() < until:
                now = time.monotonic()
                here = [one for one in status()["jobs"] if one["name"] == guest["name"]]
                if here and here[0]["schedule"]:
                    looks.append((now, here[0]["schedule"]["share"]))
                time.sleep(LOOK_S)
            end, wrong_s = off_s(looks, int(3 / LOOK_S))
            found |= {f"{name}_s": round(wrong_s, 3), f"share_{name}": round(end, 4)}
            job.kill()
            job.wait()
            time.sleep(1.0)  # so that the daemon has seen it leave
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--cpu", type=int, default=15)
    parser.add_argument("--policy", default="fair")
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--first", type=float, default=2.0, help="seconds of the first step")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", choices=("simulated", "live"))
    options = parser.parse_args()
    rows = []
    if options.only != "live":
        for policy in ("fair", "throughput"):
            for step_ms, row_ms, first_ms in ((300, 6, 1000), (800, 6, 3000), (100, 1, 1000)):
                rows.append({"where": "simulated", **simulated(policy, step_ms, row_ms, first_ms)})
                print(rows[-1], flush=True)
    if options.only != "simulated":
        with tempfile.TemporaryDirectory() as cache:
            os.environ["JOADER_CACHE"] = cache
            for number in range(options.repeats):
                rows.append({"where": "live", "policy": options.policy, **live(options, number)})
                print(rows[-1], flush=True)
    print(machine())
    for where in ("simulated", "live"):
        its = [row for row in rows if row["where"] == where]
        if its:
            cold, warm = (statistics.median(r[f"{w}_s"] for r in its) for w in ("without", "with"))
            print(f"{where}, medians: wrong for {cold:.2f} s without, {warm:.2f} s with")
    report("recall", machine(), "see the head of the benchmark", rows)


if __name__ == "__main__":
    main()
