"""The doctor finds what is wrong, says what to do, and says by its exit code that it did."""

import json
import os
import resource
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from joader.cli.doctor import folder, machine
from joader.cli.doctor.finding import Finding
from joader.daemon.door import most_clients
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


def by_name(findings: list[Finding]) -> dict[str, Finding]:
    return {finding.name: finding for finding in findings}


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


def test_too_few_descriptors_are_bad_and_stay_as_they_were() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    list(machine.limits())
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == before
    script = (
        "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))\n"
        "from joader.cli.doctor.machine import limits\nprint([f.level for f in limits()])"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "'bad'" in run.stdout
    assert most_clients(1) >= 8


@pytest.mark.parametrize(
    ("free_kib", "overcommit", "levels"),
    [(8 << 20, "0", {"ok"}), (512 << 10, "0", {"ok", "warn"}), (8 << 20, "2", {"ok", "warn"})],
)
def test_memory_of_a_machine(
    tmp_path: Path, free_kib: int, overcommit: str, levels: set[str]
) -> None:
    (tmp_path / "proc/sys/vm").mkdir(parents=True)
    (tmp_path / "proc/self").mkdir()
    (tmp_path / "proc/meminfo").write_text(
        f"MemAvailable: {free_kib} kB\nCommitLimit: {free_kib} kB\nCommitted_AS: 0 kB\n"
    )
    (tmp_path / "proc/sys/vm/overcommit_memory").write_text(overcommit)
    assert {finding.level for finding in machine.memory(tmp_path)} == levels


def test_the_socket_of_a_daemon_that_was_killed_and_a_file_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JOADER_RUNTIME", str(tmp_path))
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(tmp_path / "daemon.sock"))
    found = by_name(list(folder.daemon()))
    assert found["leftovers"].level == "ok"
    (tmp_path / "daemon.sock").unlink()
    (tmp_path / "daemon.sock").write_text("data")
    assert by_name(list(folder.daemon()))["leftovers"].level == "bad"


def test_errors_in_the_log_are_pointed_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOADER_RUNTIME", str(tmp_path))
    (tmp_path / "daemon.log").write_text("2026 INFO fine\n2026-01-01 ERROR a bug in joader\n")
    found = by_name(list(folder.daemon()))
    assert found["log"].level == "warn"
    assert "a bug in joader" in found["log"].found


def test_a_daemon_that_runs_is_named(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.up()
    try:
        assert node.daemon is not None
        assert f"process {node.daemon.pid}" in doctor(node.run).stdout
    finally:
        node.down()
