"""The doctor finds what is wrong, says what to do, and says by its exit code that it did."""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.processes.conftest import Node
from tests.warm import process as warm


def doctor(folder: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    return warm.run(
        [sys.executable, "-m", "joader.cli.main", "doctor", *arguments],
        env={**os.environ, "JOADER_RUNTIME": str(folder), "COLUMNS": "200", **more},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_good_machine_is_told_so(tmp_path: Path) -> None:
    run = doctor(tmp_path)
    assert run.returncode == 0, run.stdout
    assert "joader works here" in run.stdout
    told = json.loads(doctor(tmp_path, "--json").stdout)
    assert told["ok"] is True
    names = {check["name"] for check in told["checks"]}
    assert names >= {"joader", "memory", "cores", "descriptors", "memfd", "daemon"}
    assert not list(tmp_path.iterdir())  # nothing is left of what it tried


def test_a_folder_that_others_can_write_to_is_bad(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    run = doctor(tmp_path)
    assert run.returncode == 1
    assert "can be written by others" in run.stdout
    assert "must be put right" in run.stdout


def test_a_path_too_long_for_a_socket_is_bad(tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 100)
    run = doctor(deep, "--json")
    assert run.returncode == 1
    checks = {check["name"]: check for check in json.loads(run.stdout)["checks"]}
    bad = checks["runtime folder"]
    assert "too long" in bad["advice"]


def test_a_daemon_that_runs_is_named(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.up()
    try:
        assert node.daemon is not None
        assert f"process {node.daemon.pid}" in doctor(node.run).stdout
    finally:
        node.down()
