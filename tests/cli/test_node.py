"""`joader up`, `down` and `status` with a real daemon."""

import json
import os
import re
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


READ = """
import joader
class Rows:
    def __len__(self): return 8
    def __getitem__(self, row): return row
loader = joader.DataLoader(Rows(), batch_size=4, key="rows")
passing = iter(loader)
next(passing)
print("reads", flush=True)
input()
"""


def test_a_job_is_shown_with_what_was_saved_and_logged_with_the_time(joader, tmp_path) -> None:  # type: ignore[no-untyped-def]
    joader("up", "-d", "--memory", "32MiB", "--workers", "1")
    job = subprocess.Popen(
        [sys.executable, "-c", READ],
        env={**os.environ, "JOADER_RUNTIME": str(tmp_path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert job.stdout is not None
    assert job.stdout.readline() == "reads\n"
    shown = joader("status").stdout.splitlines()
    assert shown[0].endswith(", 1 worker")
    assert shown[-2].split()[-1] == "saved"
    assert shown[-1].split()[-1] == "0%"
    refused = joader("down")
    assert refused.returncode == 2
    assert "1 job reads: -c" in refused.stderr
    job.communicate("end\n")
    assert joader("down").returncode == 0
    log = (tmp_path / "daemon.log").read_text().splitlines()
    said = [re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d INFO (.*)", line) for line in log]
    assert all(said), log
    text = "\n".join(line[1] for line in said if line)
    assert re.search(r"listens at .*, workers 1", text)
    assert f"job 1 joins: -c, process {job.pid}" in text
    assert "job 1 leaves: " in text
    assert text.endswith("ends")
