"""Real jobs on a real daemon, for benchmarks of the schedule: started, looked at, and ended."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from joader.client.reading.connection import Connection
from joader.messages import AskStatus, Change, Status

# So that daemon and jobs end with a benchmark that `timeout` ends.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))

JOB = """
import json, sys, time
import numpy as np
import joader

its = json.loads(sys.argv[1])

class Rows:
    def __init__(self, row_s, wait_s): self.row_s, self.wait_s = row_s, wait_s
    def __len__(self): return its.get("rows", 1 << 20)
    def __getitem__(self, row):
        if self.wait_s: time.sleep(self.wait_s)
        end = time.thread_time() + self.row_s
        while time.thread_time() < end: pass
        return np.full(64, row % 251, np.uint8)

loader = joader.DataLoader(
    Rows(its["row_s"], its.get("wait_s", 0.0)), batch_size=its["batch"], shuffle=True,
    num_workers=its["workers"], key=its.get("dataset", its["name"]), job=its["name"],
    weight=its.get("weight", 1.0), deterministic=True,
)
log = open(its["log"], "w") if "log" in its else None
step_s = its.get("first_s", its["step_s"])  # kernels compile in the first step
for batch in loader:
    if log: print(time.monotonic(), file=log, flush=True)
    time.sleep(step_s)
    step_s = its["step_s"]
"""


def joader(*arguments: str) -> str:
    command = [sys.executable, "-m", "joader.cli.main", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def asked(question: AskStatus | Change) -> dict:
    """Ask the daemon from here: a process for each question would be most of the load."""
    connection = Connection(start=False)
    try:
        return json.loads(connection.ask(question, Status, 30.0).body)
    finally:
        connection.close()


def status() -> dict:
    return asked(AskStatus())


def set_policy(name: str) -> None:
    asked(Change(policy=name))


def set_weight(name: str, weight: float) -> None:
    number = next(job["id"] for job in status()["jobs"] if job["name"] == name)
    asked(Change(job=number, weight=weight))


@contextmanager
def node(cores: int, *more: str) -> Iterator[Path]:
    """Have a daemon of its own; yield its folder."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["JOADER_RUNTIME"] = folder
        joader("up", "-d", "--memory=64MiB", f"--workers={cores}", *more)
        try:
            yield Path(folder)
        finally:
            subprocess.run(
                [sys.executable, "-m", "joader.cli.main", "down", "--force"],
                capture_output=True,
                check=False,
            )


@contextmanager
def reading(folder: Path, jobs: list[dict]) -> Iterator[None]:
    """Have jobs read until the block ends."""
    script = folder / "job.py"
    script.write_text(JOB)
    running = [subprocess.Popen([sys.executable, str(script), json.dumps(job)]) for job in jobs]
    try:
        names = {job["name"] for job in jobs}
        while not names <= {job["name"] for job in status()["jobs"] if job["delivered"]}:
            time.sleep(0.2)
        yield
    finally:
        for one in running:
            one.kill()
        for one in running:
            one.wait()


def counts() -> dict[str, int]:
    return {job["name"]: job["delivered"] for job in status()["jobs"]}


def rates(seconds: float) -> dict[str, float]:
    """Return the samples per second of each job, over so long."""
    before, begun = counts(), time.monotonic()
    time.sleep(seconds)
    after, ended = counts(), time.monotonic()
    return {name: (after[name] - before.get(name, 0)) / (ended - begun) for name in after}


def processor_s(pids: list[int]) -> float:
    """Return what processes have had of processors so far."""
    total = 0
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")
