"""A storage that turns slow and quick: how many requests are under way, and what that gives.

    python benchmarks/bench_stages.py [--seconds 20] [--cycles 2] [--lent 24]

The storage is a web server of its own process (throttled_store.py), on real sockets: slow, it takes
20 ms for each of many; quick, few at a time are best. Rows that it answers per second are counted
there, for all clients alike:
- a fixed number of requests: so many threads that read as fast as they can, slow and quick alone;
- torch's loader with so many workers, slow and quick alone;
- joader with a dataset that reads a row in `__getitem__`, and with its own storage (`http://`),
  while the storage turns every 20 s, its first seconds after each turn included.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness import machine, report
from live_jobs import node, status
from row_over_http import Rows, ask

JOB = """
import sys
sys.path.insert(0, sys.argv[1])
import joader
from row_over_http import Rows

port, workers, kind = int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
if kind == "own storage":
    from joader.storage import open_storage
    rows = open_storage([f"http://127.0.0.1:{port}/rows/{n}" for n in range(200_000)])
else:
    rows = Rows(port)
for batch in joader.DataLoader(
    rows, batch_size=32, shuffle=True, num_workers=workers, key="rows", job="job"
):
    pass
"""
TORCH = """
import sys, warnings
sys.path.insert(0, sys.argv[1])
from torch.utils.data import DataLoader
from row_over_http import Rows

rows = Rows(int(sys.argv[2]))
warnings.simplefilter("ignore")
loader = DataLoader(rows, batch_size=32, shuffle=True, num_workers=int(sys.argv[3]),
                    collate_fn=len, persistent_workers=True)
for batch in loader:
    pass
"""


@contextmanager
def store() -> Iterator[int]:
    """Have the storage run; yield its port."""
    here = Path(__file__).parent
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "port"
        process = subprocess.Popen([sys.executable, str(here / "throttled_store.py"), str(file)])
        try:
            while not file.exists() or not file.read_text():
                time.sleep(0.05)
            yield int(file.read_text())
        finally:
            process.kill()
            process.wait()


def turn(port: int, phase: str) -> None:
    ask(port, f"/turn/{phase}")


def rate(port: int, seconds: float) -> float:
    """Return how many rows the storage answers per second, over so long."""
    ask(port, "/count")
    begun = time.monotonic()
    time.sleep(seconds)
    return int(ask(port, "/count")) / (time.monotonic() - begun)


def settled(port: int, seconds: float) -> dict[str, float]:
    """Return what a client that does not adapt gets, slow and quick."""
    found = {}
    for phase in ("slow", "quick"):
        turn(port, phase)
        time.sleep(0.5)
        found[phase] = round(rate(port, seconds), 1)
    return found


def fixed(port: int, number: int, seconds: float) -> dict[str, float]:
    """Return what so many requests at a time give."""
    over = threading.Event()

    def read() -> None:
        rows = Rows(port)
        while not over.is_set():
            rows[0]

    threads = [threading.Thread(target=read) for _ in range(number)]
    for one in threads:
        one.start()
    try:
        return settled(port, seconds)
    finally:
        over.set()
        for one in threads:
            one.join()


@contextmanager
def process(code: str, *arguments: object) -> Iterator[None]:
    """Have a script run."""
    command = [sys.executable, "-c", code, str(Path(__file__).parent), *map(str, arguments)]
    # In a group of its own: torch's workers go on for seconds after their process is killed.
    running = subprocess.Popen(command, start_new_session=True)
    try:
        yield
    finally:
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()
        time.sleep(0.5)


def torch(port: int, workers: int, seconds: float) -> dict[str, float]:
    with process(TORCH, port, workers):
        wait_for_rows(port)
        return settled(port, seconds)


def wait_for_rows(port: int) -> None:
    turn(port, "quick")
    ask(port, "/count")
    while int(ask(port, "/count")) < 50:
        time.sleep(0.5)


def turning(port: int, kind: str, options: argparse.Namespace) -> tuple[dict, list[dict]]:
    """Return what joader gets from a storage that turns, by phase, and what it did meanwhile."""
    found: dict[str, list[float]] = {"slow": [], "quick": []}
    seen: list[dict] = []
    lent = 2 if kind == "own storage" else options.lent  # its workers read ahead
    with node(2, "--memory=8MiB"), process(JOB, port, lent, kind):
        wait_for_rows(port)
        time.sleep(3)
        for _ in range(options.cycles):
            for phase in ("slow", "quick"):
                turn(port, phase)
                ask(port, "/count")
                begun = time.monotonic()
                counted = 0
                while (gone := time.monotonic() - begun) < options.seconds:
                    time.sleep(min(1.0, options.seconds - gone))
                    more = int(ask(port, "/count"))
                    counted += more
                    crew = status()["crews"][0]
                    seen.append({"phase": phase, "rows": more, "most": crew["in_flight_most"]})
                    if options.verbose:
                        print(json.dumps(seen[-1]), flush=True)
                found[phase].append(counted / (time.monotonic() - begun))
    return {phase: round(statistics.mean(rates), 1) for phase, rates in found.items()}, seen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=20.0, help="between two turns")
    parser.add_argument("--cycles", type=int, default=1)
    parser.add_argument("--settled", type=float, default=2.5, help="seconds for a fixed number")
    parser.add_argument("--lent", type=int, default=24, help="workers that the job lends")
    parser.add_argument("--numbers", type=int, nargs="*", default=[2, 3, 4, 5, 6, 8, 12, 16, 24])
    parser.add_argument("--torch", type=int, nargs="*", default=[4, 8, 12])
    parser.add_argument("--kinds", nargs="*", default=["dataset", "own storage"])
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    rows: list[dict] = []
    with store() as port:
        for name, numbers, measured in (
            ("fixed", options.numbers, fixed),
            ("torch", options.torch, torch),
        ):
            for number in numbers:
                rows.append(
                    {"client": name, "number": number} | measured(port, number, options.settled)
                )
                print(json.dumps(rows[-1]), flush=True)
        for kind in options.kinds:
            got, seen = turning(port, kind, options)
            rows.append({"client": f"joader, {kind}", **got, **compared(got, rows)})
            print(json.dumps(rows[-1]), flush=True)
            rows[-1]["each_second"] = [[one["phase"], one["rows"], one["most"]] for one in seen]
    method = (
        f"rows per second that the storage answered; fixed numbers {options.settled} s in each "
        f"phase, joader over {options.cycles} times {options.seconds:g} s slow and quick in turn"
    )
    report("stages", machine(), method, rows)


def compared(got: dict, rows: list[dict]) -> dict:
    """Return what was got as parts of the best fixed numbers: in each phase, and over both."""
    found = {}
    for name in ("fixed", "torch"):
        its = [row for row in rows if row["client"] == name]
        if its:
            both = max(row["slow"] + row["quick"] for row in its)
            found[f"over_one_{name}"] = round((got["slow"] + got["quick"]) / both, 2)
            if name == "fixed":
                for phase in ("slow", "quick"):
                    best = max(row[phase] for row in its)
                    found[f"of_best_{phase}"] = round(got[phase] / best, 2)
    return found


if __name__ == "__main__":
    main()
