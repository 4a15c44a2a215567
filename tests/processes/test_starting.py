"""Daemons that a job starts in the background: whose child they are, what they take along."""

import os
import subprocess
import sys
import time

from joader.daemon.start_lock import start_lock
from tests.processes.conftest import Node, alive
from tests.processes.jobs import wait_until

LOOK = "from joader.client.connection import Connection; c = Connection(); print(c.daemon_pid)"


def run(node: Node, code: str, *flags: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *flags, "-c", code],
        env={**os.environ, "JOADER_RUNTIME": str(node.run), "JOADER_IDLE_S": "0.5", **variables},
        cwd=node.folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_relative_runtime_folder_is_found_by_the_daemon_too(node: Node) -> None:
    begun = time.monotonic()
    result = run(node, LOOK, JOADER_RUNTIME="run")
    assert result.returncode == 0, result.stderr
    assert time.monotonic() - begun < 15


def test_an_idle_daemon_serves_while_another_holds_the_start_lock(node: Node) -> None:
    pid = int(run(node, LOOK, JOADER_IDLE_S="0.4").stdout)
    with start_lock(node.socket):
        time.sleep(1.5)  # it would have ended by now, and would wait for the lock
        assert node.status()["pid"] == pid
    wait_until(lambda: not alive(pid))
