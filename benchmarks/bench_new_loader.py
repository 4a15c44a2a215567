"""What a new loader costs over rows that take no time: CPU of the job and of its children.

    python benchmarks/bench_new_loader.py [--rounds 3] [--loaders 40] [--passes 40]

`for b in DataLoader(DS(o), batch_size=10)` over 20 tiny rows, with a new dataset object of one
class each time, as a script calls `evaluate(o)` again and again. Each case is a fresh process that
has imported torch, with one daemon for all; the cases take turns, torch's and joader's among each
other. *First* is the first loader of the process, *next* the mean of those that follow, *pass* the
mean of further passes of one loader; *daemon* is what the daemon computed meanwhile, per loader and
pass. Children are counted once they are reaped: the process waits for them at its end.
Figures: the median of the rounds, with the least and the most.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from typing import Any

from harness import machine, report
from live_jobs import node

CASES = [(loader, workers) for workers in (None, 0, 2) for loader in ("torch", "joader")]
JOB = """
import json, os, resource, sys, time
import torch
from torch.utils.data import Dataset
kind, workers, loaders, passes = json.loads(sys.argv[1])
if kind == "torch":
    from torch.utils.data import DataLoader
else:
    from joader import DataLoader
    from joader.client.watcher import Watcher
    with Watcher() as watcher:
        daemon = watcher.daemon_pid
named = {} if workers is None else {"num_workers": workers}

class DS(Dataset):
    def __init__(self, offset):
        self.rows = torch.arange(20) + offset

    def __len__(self):
        return 20

    def __getitem__(self, row):
        return self.rows[row]

def evaluate(offset):
    return sum(int(b.sum()) for b in DataLoader(DS(offset), batch_size=10, **named))

def settled():
    # Children that were told to end: count them with those who told them to.
    while True:
        try:
            if not os.waitpid(-1, os.WNOHANG)[0]:
                time.sleep(0.01)
        except ChildProcessError:
            return

def cpu_ms():
    times = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return 1e3 * sum(t.ru_utime + t.ru_stime for t in times)

def daemon_ms():
    if kind == "torch":
        return 0.0
    fields = open(f"/proc/{daemon}/stat").read().rpartition(")")[2].split()
    return 1e3 * (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

def measured(what, times):
    begun, begun_there = cpu_ms(), daemon_ms()
    what(times)
    settled()
    return (cpu_ms() - begun) / times, (daemon_ms() - begun_there) / times

def new_loaders(times):
    for number in range(times):
        assert evaluate(number) == 190 + 20 * number

def passes_of_one(times):
    loader = DataLoader(DS(0), batch_size=10, **named)
    sum(int(b.sum()) for b in loader)
    begun, begun_there = cpu_ms(), daemon_ms()
    for _ in range(times):
        assert sum(int(b.sum()) for b in loader) == 190
    per_pass.append((cpu_ms() - begun) / times)
    per_pass.append((daemon_ms() - begun_there) / times)

per_pass = []
first, _ = measured(new_loaders, 1)
following, in_daemon = measured(new_loaders, loaders)
passes_of_one(passes)
print(json.dumps({"first": first, "next": following, "pass": per_pass[0],
                  "daemon_next": in_daemon, "daemon_pass": per_pass[1]}))
"""
FIGURES = ("first", "next", "pass", "daemon_next", "daemon_pass")


def measured(loader: str, workers: int | None, loaders: int, passes: int) -> dict[str, float]:
    told = json.dumps([loader, workers, loaders, passes])
    run = [sys.executable, "-W", "ignore", "-c", JOB, told]
    done = subprocess.run(run, check=True, stdout=subprocess.PIPE, text=True, env=os.environ)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--loaders", type=int, default=40)
    parser.add_argument("--passes", type=int, default=40)
    args = parser.parse_args()
    where = machine()
    print(where)
    taken: dict[tuple[str, int | None], list[dict[str, float]]] = {case: [] for case in CASES}
    with node(2, "--no-dashboard"):
        for _ in range(args.rounds):
            for case, found in taken.items():
                found.append(measured(*case, args.loaders, args.passes))
    print(f"{'CPU ms, median (least to most)':34}" + "".join(f"{name:>22}" for name in FIGURES))
    rows: list[dict[str, Any]] = []
    for (loader, workers), found in taken.items():
        row: dict[str, Any] = {"loader": loader, "num_workers": workers}
        cells = ""
        for name in FIGURES:
            all_of_it = [one[name] for one in found]
            median, least, most = statistics.median(all_of_it), min(all_of_it), max(all_of_it)
            row[name] = [round(median, 2), round(least, 2), round(most, 2)]
            cells += f"{f'{median:.2f} ({least:.2f} to {most:.2f})':>22}"
        name = f"{loader}, num_workers {'unset' if workers is None else workers}"
        print(f"{name:34}{cells}")
        rows.append(row)
    method = f"{args.rounds} rounds of {args.loaders} loaders and {args.passes} passes, in turn"
    print(method)
    report("new_loader", where, method, rows)


if __name__ == "__main__":
    main()
