"""Runs give the same counts on many cores as on one, and equal ones are run once."""

import pytest

from joader.simulator import runs
from joader.simulator.figures import nested
from joader.simulator.runs import Run, prepared

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
