"""Processes of the demo: each in its own group, and none is left when the demo ends.

Ctrl-C reaches only the demo, which then ends them all, including torch's worker processes: they
are in the group of their job. If the demo is killed outright, jobs end when they next print
something, and the daemon when it is idle.
"""

import ctypes
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from joader.errors import WorldError

_END_S = 5.0
_LOOK_S = 0.02
_PR_SET_CHILD_SUBREAPER = 36

Process = subprocess.Popen[str]


class Processes:
    """Start processes, and end those that are left."""

    def __init__(self, folder: Path) -> None:
        """Work in this folder; what processes write to standard error is kept there."""
        self.folder = folder
        self._started: list[tuple[Process, Path]] = []

    def start(self, name: str, command: Sequence[str], **variables: str) -> Process:
        """Start Python with these arguments; lines go in and come out."""
        errors = self.folder / f"{name}.log"
        with errors.open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, *command],
                cwd=self.folder,
                env=self._environment(variables),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )
        self._started.append((process, errors))
        return process

    def _environment(self, variables: Mapping[str, str]) -> dict[str, str]:
        """Return ours, but with no way to the user's daemon; torch's leftovers go to our folder."""
        ours = {name: value for name, value in os.environ.items() if name != "JOADER_ADDRESS"}
        return {**ours, "TORCHINDUCTOR_CACHE_DIR": str(self.folder), **variables}

    def check(self) -> None:
        """Raise if one has failed."""
        for process, errors in self._started:
            if process.poll():
                tail = errors.read_text(errors="replace")[-2000:]
                raise WorldError(f"a process of the demo ended with {process.returncode}:\n{tail}")

    def close(self) -> None:
        """End them all: the daemon properly, so that its workers go too; the others at once."""
        for process, _ in reversed(self._started):
            if process.poll() is None:
                process.terminate()
        for process, _ in reversed(self._started):
            with suppress(subprocess.TimeoutExpired):
                process.wait(_END_S)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()
        self._started.clear()


@contextmanager
def interrupted_by_signals() -> Iterator[None]:
    """Treat a closed terminal and `kill` as Ctrl-C."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    numbers = (signal.SIGTERM, signal.SIGHUP)
    before = [signal.signal(number, interrupt) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def cpu_seconds(pid: int) -> float:
    """Return the CPU seconds of a process and of the children it has waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return sum(int(field) for field in fields[11:15]) / os.sysconf("SC_CLK_TCK")


@contextmanager
def adopting_orphans() -> Iterator[None]:
    """Become the parent of descendants whose own parents end first, to count what they used."""
    prctl = ctypes.CDLL(None).prctl
    prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def ended_cpu_seconds() -> float:
    """Return what all children that were waited for have used, with those that they waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def wait_for_orphans(but: Container[int]) -> None:
    """Wait for children that nobody started here: `ended_cpu_seconds` then counts them.

    joader's workers may be such: they are children of their job, and end soon after it.
    """
    deadline = time.monotonic() + _END_S
    while left := [pid for pid in children() if pid not in but]:
        for pid in left:
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        if time.monotonic() > deadline:
            break
        time.sleep(_LOOK_S)


def children() -> list[int]:
    """Return the process ids of our children."""
    tasks = Path("/proc/self/task")
    return [int(pid) for task in tasks.iterdir() for pid in (task / "children").read_text().split()]
