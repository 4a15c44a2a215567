"""How much of a processor does the daemon need, for each sample that is prepared and delivered?

A real daemon, driven by jobs and workers that do no work (synthetic_node.py), so that two cores are
enough to drive it at the rate of a machine with many. Processor time is the daemon's own, all
threads, by the kernel. `--against SRC` runs each case with the code of another checkout in turn,
and reports the ratio.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from harness import machine, report

HERE = Path(__file__).parent
SOURCE = HERE.parent / "src"
# name: what the node does, memory, seconds before it is measured, and what was asked for (µs).
PHOTOS = {"least_kb": 100, "most_kb": 2000}
CASES: dict[str, tuple[dict[str, Any], str, float, str]] = {
    "1 job, small rows": ({"rows": 1_000_000, "least_kb": 3, "most_kb": 3}, "1GiB", 3, "18"),
    "1 job, fresh": ({"rows": 10_000, "fresh": True}, "1GiB", 3, "18"),
    "1 job, full memory": ({"rows": 100_000}, "1GiB", 4, "18"),
    "1 job, 128 workers": (
        {"rows": 1_000_000, "workers": 128, "row_ms": 4.0, "least_kb": 3, "most_kb": 3},
        "1GiB",
        4,
        "18",
    ),
    "1 job, own crops of photos, first pass": (
        {"rows": 200_000, "own_kb": 150, **PHOTOS},
        "1GiB",
        4,
        "40",
    ),
    "1 job, own crops of photos, later passes": (
        {"rows": 6_000, "own_kb": 150, **PHOTOS},
        "1GiB",
        8,
        "40",
    ),
    "2 jobs, own crops of photos": (
        {"rows": 200_000, "jobs": 2, "own_kb": 150, **PHOTOS},
        "4GiB",
        4,
        "",
    ),
    "6 jobs, own crops of photos": (
        {"rows": 200_000, "jobs": 6, "own_kb": 150, **PHOTOS},
        "4GiB",
        4,
        "",
    ),
    "8 jobs in step": ({"rows": 100_000, "jobs": 8}, "1GiB", 4, "5 per delivered"),
    "8 jobs, 128 workers": (
        {"rows": 1_000_000, "jobs": 8, "workers": 128, "row_ms": 4.0},
        "2GiB",
        5,
        "",
    ),
    "32 jobs in step, 10 M rows, full memory": (
        {"rows": 10_000_000, "jobs": 32, "workers": 64, "row_ms": 8.0},
        "4GiB",
        30,
        "1.3 x what 1 and 8 jobs predict",
    ),
}


def run(source: Path, driver: Path, case: str, seconds: float) -> dict[str, Any]:
    """Run one case with the code of a checkout."""
    node, memory, warm, _ = CASES[case]
    with tempfile.TemporaryDirectory(prefix="joader-bench-") as folder:
        path = os.environ.get("PYTHONPATH", "")
        environ = {**os.environ, "JOADER_RUNTIME": folder, "PYTHONPATH": f"{source}:{path}"}
        socket = f"{folder}/daemon.sock"
        daemon = subprocess.Popen(
            [
                *(sys.executable, "-m", "joader.daemon.main", f"--socket={socket}"),
                *(f"--memory={memory}", "--workers=128", "--idle=0"),
            ],
            env=environ,
            stderr=subprocess.DEVNULL,
        )
        while not Path(socket).exists():
            time.sleep(0.02)
        arguments = [socket, str(daemon.pid), json.dumps(node)]
        arguments += [f"--warm={warm}", f"--seconds={seconds}"]
        # A session of its own: the daemon ends workers with their process groups.
        done = subprocess.run(
            [sys.executable, str(driver), *arguments],
            env=environ,
            stdout=subprocess.PIPE,
            start_new_session=True,
            check=False,
        )
        daemon.terminate()
        daemon.wait()
    if not done.stdout:
        return {"us_per_delivered": float("nan"), "us_per_prepared": float("nan")}
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", default="", help="cases whose names hold this")
    parser.add_argument("--against", type=Path, help="the src/ of another checkout")
    parser.add_argument("--its-driver", type=Path, help="a driver that speaks its protocol")
    parser.add_argument("--name", default="daemon")
    given = parser.parse_args()
    driver = HERE / "synthetic_node.py"
    rows: list[dict[str, object]] = []
    for case in [name for name in CASES if given.only in name]:
        runs, others = [], []
        for _ in range(given.repeats):
            runs.append(run(SOURCE, driver, case, given.seconds))
            if given.against:
                its = given.its_driver or driver
                others.append(run(given.against, its, case, given.seconds))
        each = sorted(float(one["us_per_delivered"]) for one in runs)
        row: dict[str, object] = {
            "case": case,
            "us_per_delivered": statistics.median(each),
            "least": each[0],
            "most": each[-1],
            "us_per_prepared": statistics.median(one["us_per_prepared"] for one in runs),
            "delivered_per_s": statistics.median(one.get("delivered_per_s", 0) for one in runs),
            "prepared_per_s": statistics.median(one.get("prepared_per_s", 0) for one in runs),
            "daemon_cpu": statistics.median(one.get("daemon_cpu", 0.0) for one in runs),
            "asked": CASES[case][3],
        }
        if others:
            before = statistics.median(float(one["us_per_delivered"]) for one in others)
            row["before_us"] = before
            row["times_less"] = round(before / statistics.median(each), 2)
        rows.append(row)
        print(row, flush=True)
    report(given.name, machine(), f"medians of {given.repeats}; daemon's processor time", rows)


if __name__ == "__main__":
    main()
