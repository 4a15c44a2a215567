"""Processes of the demo: none fails unseen, outlives it, or works uncounted."""

import time
from contextlib import closing
from pathlib import Path

import pytest

from joader.cli.demo.processes import (
    Processes,
    adopting_orphans,
    children,
    cpu_seconds,
    ended_cpu_seconds,
    wait_for_orphans,
)
from joader.errors import WorldError


def test_a_process_that_fails_is_told_with_what_it_said(tmp_path: Path) -> None:
    processes = Processes(tmp_path)
    processes.start("bad", ["-c", "raise SystemExit('no room')"]).wait()
    with pytest.raises(WorldError, match="no room"):
        processes.check()
    processes.close()


def test_processes_end_with_their_children(tmp_path: Path) -> None:
    processes = Processes(tmp_path)
    script = "import subprocess; p = subprocess.Popen(['sleep', '60']); print(p.pid, flush=True)\n"
    process = processes.start("parent", ["-c", f"{script}p.wait()"])
    assert process.stdout is not None
    child = int(process.stdout.readline())
    assert cpu_seconds(process.pid) >= 0
    processes.close()
    deadline = time.monotonic() + 10
    while _alive(child):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_what_orphans_used_is_counted(tmp_path: Path) -> None:
    burn = "import time\nwhile time.process_time() < 0.3: pass"
    leave = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {burn!r}])"
    others, used = set(children()), ended_cpu_seconds()
    with adopting_orphans(), closing(Processes(tmp_path)) as processes:
        processes.start("parent", ["-c", leave]).wait()
        wait_for_orphans(but=others)
    assert ended_cpu_seconds() - used >= 0.3
    assert set(children()) <= others


def _alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
