"""`joader up`, `down` and `status` with a real daemon."""

import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from joader.messages import Refuse
from joader.wire import frame
from tests.warm import process as warm


@pytest.fixture
def joader(tmp_path: Path):  # type: ignore[no-untyped-def]
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return warm.run(
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
    up = joader("up", "-d", "--no-dashboard", "--memory", "32MiB", "--workers", "1")
    assert up.returncode == 0, up.stderr
    again = joader("up", "-d")
    assert again.returncode == 2
    assert "runs at" in again.stderr
    shown = json.loads(joader("status", "--json").stdout)
    assert shown["memory"]["budget_bytes"] == 32 * 2**20
    assert shown["jobs"] == []
    assert (shown["workers"], shown["worker_processes"]) == (0, [])  # they come with jobs
    figures = {"memory", "workers", "worker_processes", "jobs", "totals", "crews", "schedule"}
    assert set(shown) == {
        *("version", "running", "pid", "socket", "started_by", "cgroup", "time", "uptime_s"),
        *("cores", "delivered_per_s", "prepared_per_s", "cpu_cores", "flow", "raw", "cluster"),
        *("queued", "tiers", "diagnosis"),
        *figures,
    }
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
    joader("up", "-d", "--no-dashboard", "--memory", "32MiB", "--workers", "1")
    job = warm.Process(
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
    node = json.loads(joader("status", "--json").stdout)
    (crew,) = node["crews"]
    assert (crew["jobs"], crew["workers"]) == ([1], node["worker_processes"])
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


def test_a_daemon_that_a_job_started_says_so(joader, tmp_path) -> None:  # type: ignore[no-untyped-def]
    job = warm.Process(
        [sys.executable, "-c", READ],
        env={**os.environ, "JOADER_RUNTIME": str(tmp_path), "JOADER_IDLE": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert job.stdout is not None
    assert job.stdout.readline() == "reads\n"
    assert json.loads(joader("status", "--json").stdout)["started_by"] == job.pid
    said = joader("status").stdout.splitlines()[1]
    assert said.startswith(
        f"started by a job, process {job.pid}: it may end with that job's cgroup, /"
    )
    job.communicate("end\n")
    assert joader("down").returncode == 0
    assert f"started by a job, process {job.pid}, in" in (tmp_path / "daemon.log").read_text()


OTHER_VERSION = """
import sys
from joader.daemon import reception as handshake, main
handshake.PROTOCOL, handshake.__version__ = 4, "0.0.9"
sys.argv = ["joader.daemon", "--socket", sys.argv[1], "--memory=32MiB", "--workers=1", "--idle=0"]
main.main()
"""


def test_a_daemon_of_another_version_is_shown_and_can_be_ended(joader, tmp_path) -> None:  # type: ignore[no-untyped-def]
    place = tmp_path / "daemon.sock"
    other = warm.Process([sys.executable, "-c", OTHER_VERSION, str(place)])
    try:
        while not place.exists():
            assert other.poll() is None
            time.sleep(0.02)
        shown = joader("status")
        assert shown.returncode == 1
        assert f"joader 0.0.9, process {other.pid}, speaks protocol 4" in shown.stderr
        assert "`joader down` ends it" in shown.stderr
        told = json.loads(joader("status", "--json").stdout)
        assert (told["pid"], told["version"], told["protocol"]) == (other.pid, "0.0.9", 4)
        ended = joader("down")
        assert ended.returncode == 0, ended.stderr
        assert f"process {other.pid}, has ended" in ended.stdout
        assert other.wait(10) == 0
    finally:
        other.kill()
        other.wait()


def test_what_refuses_for_another_reason_is_not_ended(joader, tmp_path) -> None:  # type: ignore[no-untyped-def]
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "daemon.sock"))
        listener.listen()

        def turn_away() -> None:
            with listener.accept()[0] as client:
                client.recv(4096)
                client.sendall(frame(Refuse("the daemon has 8 clients; it can serve no more")))

        thread = threading.Thread(target=turn_away)
        thread.start()
        refused = joader("down")
        thread.join()
    assert refused.returncode == 1
    assert "8 clients" in refused.stderr


def test_without_a_daemon_the_status_is_json_too(joader, tmp_path) -> None:  # type: ignore[no-untyped-def]
    run = joader("status", "--json")
    assert run.returncode == 1
    told = json.loads(run.stdout)
    assert told["running"] is False
    assert told["pid"] is None
    assert told["jobs"] == []
    assert told["totals"]["delivered"] == 0
    assert told["socket"] == str(tmp_path / "daemon.sock")
    assert "no daemon listens" in told["error"]
    joader("up", "-d", "--no-dashboard", "--memory", "32MiB", "--workers", "1")
    running = json.loads(joader("status", "--json").stdout)
    assert running["running"] is True
    assert set(running) == set(told) - {"error"}
    assert f"listens at {tmp_path / 'daemon.sock'}" in joader("status").stdout
