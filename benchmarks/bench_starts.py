"""How long a command takes that only looks, start of Python included: with a daemon, without jobs.

    python benchmarks/bench_starts.py [--repeats 20]

Every run is a fresh interpreter, whose files are in the page cache; commands in turn.
"""

import argparse
import statistics
import subprocess
import sys
import time

from harness import machine, report
from live_jobs import node

COMMANDS = ("--help", "up --help", "status", "top --once", "jobs", "datasets")


def start_s(command: str) -> float:
    started = time.perf_counter()
    run = [sys.executable, "-m", "joader.cli.main", *command.split()]
    subprocess.run(run, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=20)
    repeats = parser.parse_args().repeats
    where = machine()
    print(where)
    taken: dict[str, list[float]] = {command: [] for command in COMMANDS}
    with node(2, "--no-dashboard"):
        for _ in range(repeats):
            for command, times in taken.items():
                times.append(start_s(command))
    rows: list[dict[str, object]] = []
    for command, times in taken.items():
        median, worst = round(statistics.median(times), 3), round(max(times), 3)
        print(f"joader {command:12} {median:.3f} s, at worst {worst:.3f} s")
        rows.append({"command": f"joader {command}", "median_s": median, "worst_s": worst})
    report("starts", where, f"wall time of {repeats} starts each, in turn", rows)


if __name__ == "__main__":
    main()
