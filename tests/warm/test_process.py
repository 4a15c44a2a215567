"""A forked process cannot be told from an interpreter that was started anew."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.warm import process as warm

LOOK = """
import json, os, pickle, sys
class Own:
    pass
def words(name):
    return [word for word in open(f"/proc/self/{name}").read().split(chr(0)) if word]
print(json.dumps({
    "arguments": sys.argv, "original": sys.orig_argv, "command": words("cmdline"),
    "environment": sorted(words("environ")), "known": sorted(map("=".join, os.environ.items())),
    "folder": os.getcwd(), "path": sys.path, "name": __name__, "file": globals().get("__file__"),
    "own": type(pickle.loads(pickle.dumps(Own()))) is Own, "torch": "torch" in sys.modules,
    "descriptors": sorted(os.listdir("/proc/self/fd"))[:3], "stdin": sys.stdin.read(),
}))
"""


def seen(command: list[str], folder: Path, **variables: str) -> list[dict[str, Any]]:
    """Return what a script sees of itself in a fork, and in an interpreter of its own."""
    environment = {**os.environ, "ADDED": "yes", **variables}
    options: dict[str, Any] = {"env": environment, "cwd": folder, "text": True, "input": "said"}
    forked = warm.run(command, capture_output=True, check=True, paths=True, **options)
    started = subprocess.run(command, capture_output=True, check=True, **options)
    return [json.loads(done.stdout) for done in (forked, started)]


@pytest.mark.parametrize("kind", ["file", "-c", "-m"])
def test_a_script_sees_what_it_would_see(kind: str, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(LOOK)
    what = {"file": ["script.py"], "-c": ["-c", LOOK], "-m": ["-m", "script"]}[kind]
    forked, started = seen([sys.executable, *what, "one", "two"], tmp_path, PYTHONPATH="below")
    assert forked == started
    assert forked["own"]
    assert not forked["torch"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("pass", 0),
        ("import sys; sys.exit(3)", 3),
        ("import sys; sys.exit('a reason')", 1),
        ("1 / 0", 1),
        ("import os; os._exit(4)", 4),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM),
    ],
)
def test_it_ends_as_it_would_end(text: str, code: int) -> None:
    command = [sys.executable, "-c", text]
    forked = warm.run(command, capture_output=True, text=True)
    started = subprocess.run(command, capture_output=True, text=True, check=False)
    assert forked.returncode == started.returncode == code
    assert (forked.stdout, forked.stderr) == (started.stdout, started.stderr)


def test_it_can_be_waited_for_asked_and_killed() -> None:
    process = warm.Process([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.05)
    assert process.poll() is None
    process.kill()
    assert process.wait(20) == process.poll() == -signal.SIGKILL
    assert process.stdin is not None
    process.stdin.close()


def test_what_a_fork_cannot_stand_for_gets_an_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JOADER_TESTS_FRESH", raising=False)
    environment = dict(os.environ)
    assert warm.fits([sys.executable, "-c", "pass"], environment, False)
    assert not warm.fits([sys.executable, "-I", "-c", "pass"], environment, False)
    assert not warm.fits(["sh", "-c", "pass"], environment, False)
    for name in ("PYTHONHASHSEED", "OMP_NUM_THREADS", "PYTHONPATH"):
        changed = {**environment, name: "7"}
        assert not warm.fits([sys.executable, "-c", "pass"], changed, False)
    monkeypatch.setenv("JOADER_TESTS_FRESH", "1")
    assert not warm.fits([sys.executable, "-c", "pass"], environment, False)
