"""Real jobs for the process tests: scripts in processes of their own, on datasets of NumPy arrays.

A test writes what a job does in a few lines; `Job` runs it with the test's own daemon folder, and
gives back what the script printed as JSON, one value a line.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.warm.process import Process

# How jobs start Python, as in JOADER_TESTS_FLAGS=-O (test_optimized.py).
FLAGS = os.environ.get("JOADER_TESTS_FLAGS", "").split()

PRELUDE = '''
import json, os, signal, sys, time
import numpy as np
import joader

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job has none

def say(value):
    print(json.dumps(value), flush=True)

class Squares:
    """Row i is an array full of i, and i itself; some rows are bad in ways a test may choose."""

    def __init__(self, length, side=16, bad=None, slow_s=0.0, log=None):
        self.length, self.side, self.bad = length, side, bad or {}
        self.slow_s, self.log = slow_s, log

    def __len__(self):
        return self.length

    def __getitem__(self, row):
        if self.log:
            with open(self.log, "a") as log:
                log.write(f"{row}\\n")
        # At least so long that workers read it: rows in memory are for the job.
        time.sleep(max(self.slow_s, 2e-5))
        what = self.bad.get(str(row), self.bad.get(row))
        if what == "raise":
            raise ValueError(f"row {row} is broken")
        if what == "die":
            os.kill(os.getpid(), 9)
        if what == "die once" and not os.path.exists(f"{self.log}.died"):
            open(f"{self.log}.died", "w").close()
            os.kill(os.getpid(), 9)
        return np.full((self.side, self.side), row % 251, np.uint8), row

class Signed(Squares):
    """Each row leaves its number, who prepared it, and whose child that is: a job's nursery."""

    def __getitem__(self, row):
        with open("signed", "a") as file:
            file.write(f"{row} {os.getpid()} {os.getppid()}\\n")
        return super().__getitem__(row)

def check(batch):
    arrays, rows = batch
    assert arrays.dtype == np.uint8 and arrays.shape[0] == len(rows)
    for array, row in zip(arrays, rows.tolist()):
        assert (array == row % 251).all(), row
    return rows.tolist()
'''


class Job:
    """A script in a process of its own."""

    def __init__(self, folder: Path, script: str, *arguments: str, **variables: str) -> None:
        path = folder / f"job{time.monotonic_ns()}.py"
        path.write_text(PRELUDE + script)
        self.environment = {**os.environ, "JOADER_RUNTIME": str(folder / "run"), **variables}
        self.process = Process(
            [sys.executable, *FLAGS, str(path), *arguments],
            cwd=folder,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            torch="import torch" in script,
        )

    def say(self, text: str) -> None:
        """Say something to the script."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{text}\n")
        self.process.stdin.flush()

    def line(self) -> Any:
        """Return the next value the script says."""
        assert self.process.stdout is not None
        text = self.process.stdout.readline()
        if not text:
            raise AssertionError(f"the job ended:\n{self.process.communicate()[1]}")
        return json.loads(text)

    def result(self, timeout_s: float = 60.0) -> list[Any]:
        """Wait for the end and return all values said since the last `line`."""
        out, err = self.process.communicate(timeout=timeout_s)
        assert self.process.returncode == 0, err
        return [json.loads(line) for line in out.splitlines()]

    def error(self, timeout_s: float = 60.0) -> str:
        """Wait for a failure and return what was written to standard error."""
        _, err = self.process.communicate(timeout=timeout_s)
        assert self.process.returncode != 0
        return err

    def kill(self, number: int = signal.SIGKILL) -> None:
        self.process.send_signal(number)


def wait_until(condition: Callable[[], object], timeout_s: float = 20.0) -> None:
    """Wait for a condition; the time only bounds a failure."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)
