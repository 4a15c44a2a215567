"""Runs give the same counts on many cores as on one, and equal ones are run once."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from papers import runs
from papers.figure import nested
from papers.runs import Run, prepared

PAIR = nested(100, 50)


def some(count: int) -> list[Run]:
    return [Run(PAIR, 200, "dependent", "refcount", 1 + n, n) for n in range(count)]


def test_workers_find_what_one_process_does(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = prepared(some(5))
    monkeypatch.setattr(runs, "WORTH_WORKERS", 0)
    assert prepared(some(5)) == alone
    assert list(alone) == some(5)


def test_equal_runs_are_run_once_and_each_ticks() -> None:
    ticks: list[None] = []
    assert len(prepared(some(3) + some(3), lambda: ticks.append(None))) == len(ticks) == 3


LONG = """
from papers.runs import Run, prepared
from papers.figure import overlapping

if __name__ == "__main__":
    same = overlapping(100)
    prepared([Run(same, 50_000, "dependent", "lru", 1, seed) for seed in range(8)])
"""


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core has no workers")
def test_workers_end_when_their_caller_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "long.py"
    script.write_text(LONG)
    caller = subprocess.Popen([sys.executable, str(script)])
    children = Path(f"/proc/{caller.pid}/task/{caller.pid}/children")
    wait_until(lambda: len(children.read_text().split()) >= 3)  # two workers and what tracks them
    started = children.read_text().split()
    caller.kill()
    caller.wait()
    wait_until(lambda: not any(alive(pid) for pid in started))


def alive(pid: str) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


def wait_until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end, "not within 60 s"
        time.sleep(0.05)
