"""What the demo shows in the end: figures, and a table of them."""

import pytest

from joader.cli.console import Console
from joader.cli.demo.side import Plan, Side, new_side
from joader.cli.demo.table import as_figures, as_table

PLAN = Plan(pictures=100, jobs=2, epochs=3)


def ended(name: str, seconds: float, prepared: int) -> Side:
    side = new_side(name, PLAN)
    for job in side.jobs:
        job.hear(f'{{"samples": 300, "seconds": {seconds}, "loss": 0.5}}')
        job.started = 1.0
    side.prepared, side.cpu = prepared, 5.0
    return side


def test_figures_are_what_the_jobs_said() -> None:
    torch, joader = ended("torch", 6.0, 600), ended("joader", 2.0, 300)
    figures = as_figures(PLAN, 2, [torch, joader])
    assert figures["samples_per_s_ratio"] == 3.0
    ours = figures["sides"]["joader"]
    assert ours["samples_per_s"] == 300.0
    assert ours["cpu_seconds"] == 5.0
    assert ours["prepared_per_delivered"] == 0.5
    assert [job["name"] for job in ours["jobs"]] == ["job 1, lr 0.0005", "job 2, lr 0.001"]


def test_the_table_fits_into_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    Console(width=80).print(as_table(ended("torch", 6.0, 600), ended("joader", 2.0, 300)))
    lines = capsys.readouterr().out.splitlines()
    assert "3.0 ×" in lines[2]
    assert lines[-1].split() == ["prepared", "÷", "delivered", "1.00", "0.50"]
    assert len(lines) == 8  # none is wrapped
