"""Daemons that a job starts in the background: whose child they are, what they take along."""

import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

from joader.daemon.start_lock import start_lock
from tests.processes.conftest import Node, alive
from tests.processes.jobs import wait_until

LOOK = (
    "from joader.client.reading.connection import Connection; c = Connection(); print(c.daemon_pid)"
)


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


def test_a_job_keeps_no_child_to_wait_for(node: Node) -> None:
    code = f"""
{LOOK}
import os, select, signal
from pathlib import Path
children = Path(f"/proc/{{os.getpid()}}/task/{{os.getpid()}}/children").read_text
assert children() == "", children()
daemon = os.pidfd_open(c.daemon_pid)
os.kill(c.daemon_pid, signal.SIGKILL)
select.select([daemon], [], [])
assert children() == "", children()
c.close()
"""
    result = run(node, code, "-X", "dev", "-W", "error")
    assert result.returncode == 0, result.stderr
    assert "Warning" not in result.stderr
    node.socket.unlink()


def test_a_job_ends_without_a_warning_about_what_is_still_open(node: Node) -> None:
    code = """
import joader
loader = joader.DataLoader([[row] * 1000 for row in range(40)], batch_size=4, num_workers=1)
passing = iter(loader)
next(passing)
"""
    result = run(node, code, "-X", "dev", "-W", "error")
    assert (result.returncode, result.stderr) == (0, "")


def test_signals_that_the_job_blocks_or_ignores_reach_the_daemon(node: Node) -> None:
    code = f"""
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGINT])
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
{LOOK}
"""
    pid = int(run(node, code, JOADER_IDLE_S="0").stdout)
    masks = dict(
        line.split(":\t") for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line
    )
    assert int(masks["SigBlk"], 16) == 0
    ignored = int(masks["SigIgn"], 16)
    assert not ignored & (1 << signal.SIGCHLD - 1 | 1 << signal.SIGHUP - 1)
    os.kill(pid, signal.SIGTERM)
    wait_until(lambda: not alive(pid))


def test_the_log_is_for_the_user_alone(node: Node) -> None:
    log = node.run / "daemon.log"
    log.touch(mode=0o644)
    run(node, LOOK)
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_a_relative_runtime_folder_is_found_by_the_daemon_too(node: Node) -> None:
    begun = time.monotonic()
    result = run(node, LOOK, JOADER_RUNTIME="run")
    assert result.returncode == 0, result.stderr
    assert time.monotonic() - begun < 15


def test_why_no_daemon_came_up_is_in_the_first_line(node: Node) -> None:
    (node.run / "daemon.log").write_text("joader: an older trouble\n")
    code = """
import joader, json, warnings
class Rows:
    def __len__(self): return 4
    def __getitem__(self, row): return row
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for batch in joader.DataLoader(Rows(), batch_size=2, key="rows"): pass
print(json.dumps([str(one.message) for one in caught]))
"""
    result = run(node, code, JOADER_IDLE_S="soon")
    said = json.loads(result.stdout) or [result.stderr]
    assert any("JOADER_IDLE_S is 'soon'; give seconds" in one for one in said), said
    assert any(f"see {node.run / 'daemon.log'}" in one for one in said), said


def test_an_idle_daemon_serves_while_another_holds_the_start_lock(node: Node) -> None:
    pid = int(run(node, LOOK, JOADER_IDLE_S="0.4").stdout)
    with start_lock(node.socket):
        time.sleep(1.5)  # it would have ended by now, and would wait for the lock
        assert node.status()["pid"] == pid
    wait_until(lambda: not alive(pid))
