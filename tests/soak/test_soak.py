"""A short soak is a test like any other; `make soak MINUTES=30` is the long one."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.node import ROOT
from tests.trials import trials


def soak(minutes: float, report: Path, *more: str) -> "subprocess.CompletedProcess[str]":
    path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    return subprocess.run(
        [
            *(sys.executable, "-m", "tests.soak.soak", "--minutes", str(minutes)),
            *("--report", str(report), *more),
        ],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path, "TMPDIR": str(report.parent)},
        capture_output=True,
        text=True,
        timeout=60 * minutes + 200,
        check=False,
    )


def test_jobs_come_leave_die_and_resume_and_nothing_is_lost_or_left(tmp_path: Path) -> None:
    ran = soak(trials(10, 4) / 100, tmp_path / "report.json", "--seed", "1", "--without-outages")
    assert ran.returncode == 0, ran.stdout[-6000:] + ran.stderr[-3000:]
    told = json.loads((tmp_path / "report.json").read_text())
    assert told["verdict"] == "no promise broke"
    assert sum(told["counts"].values()) >= 1


def test_a_budget_that_is_too_small_for_the_crowd_is_a_verdict_not_a_hang(tmp_path: Path) -> None:
    ran = soak(
        trials(20, 5) / 100,
        tmp_path / "report.md",
        "--memory-mib",
        "0.0078125",
        "--without-outages",
    )
    assert ran.returncode == 1
    assert "Refusal" in ran.stdout
    assert "broken" in (tmp_path / "report.md").read_text()


@pytest.mark.slow
def test_three_minutes_of_soak_break_no_promise(tmp_path: Path) -> None:
    ran = soak(3.0, tmp_path / "report.json")
    assert ran.returncode == 0, ran.stdout[-6000:] + ran.stderr[-3000:]
    told = json.loads((tmp_path / "report.json").read_text())
    assert told["counts"]["jobs killed"] >= 1
    assert told["counts"]["outages"] >= 1
    assert told["counts"]["rows loaded by jobs themselves"] >= 1
    assert told["counts"]["read to the end"] >= 1
