"""`joader up`, `down` and `status` with a real daemon."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def joader(tmp_path: Path):  # type: ignore[no-untyped-def]
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "joader.cli.main", *arguments],
            env={**os.environ, "JOADER_RUNTIME": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    yield run
    run("down")


def test_a_daemon_goes_up_says_how_it_is_and_goes_down(joader) -> None:  # type: ignore[no-untyped-def]
    assert joader("status").returncode == 1
    up = joader("up", "-d", "--memory", "32MiB", "--workers", "1")
    assert up.returncode == 0, up.stderr
    again = joader("up", "-d")
    assert again.returncode == 2
    assert "runs at" in again.stderr
    shown = json.loads(joader("status", "--json").stdout)
    assert shown["memory"]["budget_bytes"] == 32 * 2**20
    assert shown["jobs"] == []
    assert set(shown) == {"version", "pid", "memory", "workers", "jobs", "totals"}
    assert "32.0 MiB" in joader("status").stdout
    assert joader("down").returncode == 0
    state = Path(f"/proc/{shown['pid']}/status")
    assert not state.exists() or "\nState:\tZ" in state.read_text()
    gone = joader("down")
    assert gone.returncode == 1
    assert "no daemon listens" in gone.stderr


@pytest.mark.parametrize("size", ["8", "x", "-1GiB", "8 furlongs"])
def test_a_size_that_is_none_is_refused(joader, size: str) -> None:  # type: ignore[no-untyped-def]
    run = joader("up", "-d", f"--memory={size}")
    assert run.returncode != 0
    assert "Traceback" not in run.stderr.splitlines()[:1]
