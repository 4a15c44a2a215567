"""Runs a script with torch's loader and with joader's, and says where they differ.

A script is what a user would write, in an interpreter and a working folder of its own; it prints
what it saw. Each idiom has a daemon of its own (JOADER_RUNTIME), which its first job starts. After
each run no process with the run's mark in its environment may be left but the daemon, which is
then ended by its pid.

DROP_IN_SIDES  the loaders compared, "torch,joader" by default; "torch,torch" tests the scripts
"""

import difflib
import os
import signal
import socket
import struct
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.warm import process as warm

SCRIPTS = Path(__file__).parent / "scripts"
HEADING = "== loader "  # as in scripts/loaders.py
SIDES = os.environ.get("DROP_IN_SIDES", "torch,joader")
STARTS = ("fork", "spawn", "forkserver")
LEFT_BEHIND_S = 20.0  # only bounds a failure; a forkserver may be busy with the import of torch


@dataclass(frozen=True)
class Run:
    """One interpreter: what it is told, and where. `before` is a command that starts it."""

    arguments: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    stdin: str = ""
    folder: str = "."
    before: tuple[str, ...] = ()


@dataclass(frozen=True)
class Idiom:
    """A way to use a loader, with the script that does.

    `launch`: "file", "-c", "stdin" or "-m". `starts`: how it starts processes, the hardest first.
    `together`: its runs overlap (the script meets the others); else one follows another.
    `apart`: each loader has an interpreter of its own. `any_order`: lines are compared sorted.
    """

    name: str
    starts: tuple[str, ...] = STARTS
    script: str = ""
    launch: str = "file"
    runs: tuple[Run, ...] = (Run(),)
    together: bool = False
    apart: bool = False
    any_order: bool = False
    slow: bool = False
    timeout_s: float = 90.0
    prepare: Callable[[Path], None] | None = None
    scripts: Path = SCRIPTS


class Job:
    """A script that runs; what it prints goes into files, as a pipe may be held by others."""

    def __init__(self, idiom: Idiom, run: Run, start: str, sides: str, folder: Path) -> None:
        self.mark = uuid.uuid4().hex
        self.socket = folder / "run" / "daemon.sock"
        # The time only bounds a failure; spawned workers import torch, each of them.
        self.deadline = time.monotonic() + idiom.timeout_s * (4 if start == "spawn" else 1)
        self.out, self.err = (folder / f"{self.mark}.{name}" for name in ("out", "err"))
        script, stdin = idiom.scripts / (idiom.script or idiom.name), run.stdin
        if not script.is_dir():
            script = script.with_suffix(".py")
        words = {
            "file": [str(script / "main.py" if script.is_dir() else script)],
            "-m": ["-m", f"{script.name}.train"],
        }.get(idiom.launch, [])
        if idiom.launch == "-c":
            words = ["-c", script.read_text()]
        elif idiom.launch == "stdin":
            words, stdin = ["-"], script.read_text()
        paths = [run.variables.get("PYTHONPATH"), str(idiom.scripts), str(SCRIPTS)]
        paths.append(os.environ.get("PYTHONPATH"))
        environment = {
            **os.environ,
            **run.variables,
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "PYTHONDONTWRITEBYTECODE": "1",
            "JOADER_RUNTIME": str(folder / "run"),
            "JOADER_TEST_MARK": self.mark,
            "MEETING": str(folder / "meeting"),
            "LOADER": sides,
            "START": start,
        }
        (folder / "stdin").write_text(stdin)
        with (
            (folder / "stdin").open() as read,
            self.out.open("w") as out,
            self.err.open("w") as err,
        ):
            # A script in a file cannot tell whether torch was loaded just now; how an interpreter
            # that is told otherwise begins is a part of what is tested.
            start_it = warm.Process if idiom.launch == "file" else subprocess.Popen
            warmly = {"torch": True, "paths": True} if idiom.launch == "file" else {}
            self.process = start_it(
                [*run.before, sys.executable, *words, *run.arguments],
                cwd=folder / run.folder,
                env=environment,
                stdin=read,
                stdout=out,
                stderr=err,
                start_new_session=True,
                **warmly,
            )

    def wait(self) -> str:
        """Wait for its end and return what is wrong with it."""
        try:
            code = self.process.wait(max(0.1, self.deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            return "it did not end in time"
        return f"it ended with code {code}" if code else ""

    def sections(self) -> list[list[str]]:
        """Return the lines that were printed, loader by loader."""
        parts: list[list[str]] = []
        for line in self.out.read_text(errors="replace").splitlines():
            if line.startswith(HEADING):
                parts.append([])
            elif parts:
                parts[-1].append(line)
        return parts


@dataclass
class Outcome:
    """What each of the two loaders gave, and what was wrong beside that."""

    lines: tuple[list[str], list[str]] = field(default_factory=lambda: ([], []))
    errors: str = ""
    wrong: list[str] = field(default_factory=list)

    def complaint(self) -> str:
        """Return what a reader of a failed test wants to see; nothing if all is well."""
        parts = [*self.wrong]
        torch, other = self.lines
        if not torch or any(line.startswith("ended by") for line in torch):
            parts += ["the script itself fails with torch:", *torch]
        if torch != other:
            names = SIDES.split(",")
            parts.append("the loaders differ:")
            parts += difflib.unified_diff(torch, other, *names, lineterm="", n=1)
        return "\n".join([*parts, "stderr:", self.errors[-6000:]]) if parts else ""

    def note(self, job: Job, wrong: str, side: int, any_order: bool) -> None:
        """Note what a job printed, and what is left of it."""
        self.errors += job.err.read_text(errors="replace")
        self.wrong += [wrong] if wrong else []
        self.wrong += [f"left behind: {words}" for words in left_behind(job.mark, job.socket)]
        for number, lines in enumerate(job.sections(), side):
            self.lines[number].extend(sorted(lines) if any_order else lines)


def play(idiom: Idiom, start: str, folder: Path) -> Outcome:
    """Run an idiom's script with both loaders."""
    (folder / "run").mkdir(mode=0o700)
    (folder / "meeting").mkdir()
    if idiom.prepare:
        idiom.prepare(folder)
    outcome = Outcome()
    groups = [idiom.runs] if idiom.together else [(run,) for run in idiom.runs]
    for side, sides in enumerate(SIDES.split(",") if idiom.apart else [SIDES]):
        for group in groups:
            jobs = [Job(idiom, run, start, sides, folder) for run in group]
            # All are waited for before any is looked at: they read together to the end.
            for job, wrong in [(job, job.wait()) for job in jobs]:
                outcome.note(job, wrong, side, idiom.any_order)
    _end_daemon(folder / "run" / "daemon.sock", outcome)
    return outcome


def daemon_pid(path: Path) -> int | None:
    """Return who listens at a socket."""
    with socket.socket(socket.AF_UNIX) as sock:
        try:
            sock.connect(str(path))
        except OSError:
            return None
        return int(struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, 17, 12))[0])


def marked(mark: str) -> dict[int, str]:
    """Return the processes that live with a mark in their environment, with their command lines."""
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            if mark.encode() in (entry / "environ").read_bytes():
                words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                found[int(entry.name)] = words[:200]
        except OSError:
            continue
    return found


def left_behind(mark: str, daemon: Path) -> list[str]:
    """Return what is left of a run after a while, but the daemon; end it."""
    deadline = time.monotonic() + LEFT_BEHIND_S
    while True:
        found = marked(mark)
        if found:
            found.pop(daemon_pid(daemon) or 0, None)
        if not found or time.monotonic() > deadline:
            break
        time.sleep(0.05)
    for pid in found:
        _end(pid, signal.SIGKILL)
    return [f"process {pid}: {words}" for pid, words in found.items()]


def _end_daemon(path: Path, outcome: Outcome) -> None:
    pid = daemon_pid(path)
    if pid is not None and not _end(pid, signal.SIGTERM):
        outcome.wrong.append(f"the daemon, process {pid}, did not end when told to")
        _end(pid, signal.SIGKILL)


def _end(pid: int, number: int) -> bool:
    """End a process and wait until it is gone; tell whether it is."""
    with suppress(ProcessLookupError):
        os.kill(pid, number)
    deadline = time.monotonic() + 10
    while _lives(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not _lives(pid)


def _lives(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
