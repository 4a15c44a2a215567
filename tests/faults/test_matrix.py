"""Killed, stopped and out of memory at every step: every position comes once, nothing is left.

The fault matrix runs in processes of its own (`python -m tests.faults.run`); what it prints about a
broken promise holds the command that runs the same faults again.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.faults.account import check
from tests.faults.job import JobSpec
from tests.faults.node import ROOT, Violation
from tests.faults.points import KINDS, STEPS, all_points, dealt, name_of

SPEC = JobSpec("j0", "k", [3, 1, 2, 2], 4, 2)


def python(*arguments: str, timeout_s: float) -> "subprocess.CompletedProcess[str]":
    path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


def run_faults(count: int, parallel: int, stop_s: float, report: Path, timeout_s: float) -> None:
    ran = python(
        *("-m", "tests.faults.run", "--faults", str(count), "--parallel", str(parallel)),
        *("--stop-s", str(stop_s), "--report", str(report)),
        timeout_s=timeout_s,
    )
    assert ran.returncode == 0, ran.stdout[-12000:] + ran.stderr[-4000:]
    told = json.loads(report.read_text())
    assert told["broken"] == []
    assert told["faults"] >= 0.96 * count, told["did_not_come_by"]


def test_a_few_faults_at_steps_all_over_the_journey_break_no_promise(tmp_path: Path) -> None:
    run_faults(5, 1, 0.5, tmp_path / "report.json", 300)


@pytest.mark.slow
def test_a_thousand_faults_break_no_promise(tmp_path: Path) -> None:
    run_faults(2 * len(all_points()), 12, 32.0, tmp_path / "report.json", 7200)


def test_every_step_of_every_process_is_hit_in_every_way() -> None:
    points = Counter(map(name_of, dealt(2 * len(all_points()), seed=3)))
    assert set(points.values()) == {2}
    for victim, steps in STEPS.items():
        for step in steps:
            for kind in KINDS[victim]:
                for when in step.whens:
                    assert f"{victim} {kind} {when} {step.name}" in points


def noted(*batches: list[int], epoch: int = 0) -> list[dict[str, object]]:
    lines: list[dict[str, object]] = [{"epoch": epoch, "rows": rows} for rows in batches]
    return [*lines, {"held_before": [5, 0], "held_after": [5, 0]}]


def test_the_account_takes_what_was_read_once_in_any_order() -> None:
    assert check(SPEC, noted([1, 2], [2, 3])) == 4


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (noted([1, 2], [2]), r"never \{3: 1\}"),
        (noted([1, 2], [2, 3], [3]), r"too often \{3: 1\}"),
        ([*noted([1, 2], [2, 3])[:-1], {"held_before": [5, 0], "held_after": [6, 1]}], "held"),
        (noted([1, 2], [2, 3])[:-1], "did not come to its end"),
        ([{"error": "ValueError: oh"}], "ValueError: oh"),
    ],
)
def test_the_account_finds_what_is_lost_repeated_or_kept(
    lines: list[dict[str, object]], says: str
) -> None:
    with pytest.raises(Violation, match=says):
        check(SPEC, lines)


SABOTAGED = """
from joader.client.order.progress import Progress
from joader.client.loader import DataLoader
from tests.faults.life import live
from tests.faults.points import all_points, name_of
{sabotage}
points = [p for p in all_points() if name_of(p) == "{point}"]
print(live(11, points, 1.0).violation)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("point", "sabotage", "says"),
    [
        (
            "daemon kill after send Deliver",
            "Progress.positions = lambda self: []",
            "read too often",
        ),
        (
            "daemon kill after send Deliver",
            "kept = []; DataLoader.close = lambda self: kept.append(self)",
            "descriptors and arenas before it read",
        ),
    ],
)
def test_who_breaks_a_promise_is_found_out(point: str, sabotage: str, says: str) -> None:
    ran = python("-c", SABOTAGED.format(point=point, sabotage=sabotage), timeout_s=200)
    assert says in ran.stdout, ran.stdout + ran.stderr
