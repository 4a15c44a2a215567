"""Processes of the demo: each in a group of its own, and none is left when the demo ends.

Ctrl-C reaches the demo alone, which then ends them all, torch's worker processes included: they
are in the group of their job. If the demo is killed outright, jobs end when they next say
something, and the daemon when it is idle.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from joader.errors import WorldError

_END_S = 5.0

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
        """Return ours, without a way to the user's daemon; what torch leaves is left here."""
        ours = {name: value for name, value in os.environ.items() if name != "JOADER_ADDRESS"}
        return {**ours, "TORCHINDUCTOR_CACHE_DIR": str(self.folder), **variables}

    def check(self) -> None:
        """Raise if one has failed."""
        for process, errors in self._started:
            if process.poll():
                tail = errors.read_text(errors="replace")[-2000:]
                raise WorldError(f"a process of the demo ended with {process.returncode}:\n{tail}")

    def close(self) -> None:
        """End them all: the daemon in order, so that its workers go too; the others at once."""
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
    """Return CPU seconds of a process, of its children, and of those it has waited for."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    ticks = sum(_ticks(pid)) + sum(sum(_ticks(int(child))[:2]) for child in children)
    return ticks / os.sysconf("SC_CLK_TCK")


def _ticks(pid: int) -> list[int]:
    """Return user and system time of a process, and of the children it has waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return [int(field) for field in fields[11:15]]
