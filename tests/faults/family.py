"""Who belongs to whom: a job's processes are known by a mark that their children inherit.

The mark is the name the kernel shows of a process (`comm`): a job's nursery and workers are forked
and run no other program, so they have it from birth, whoever their parent is by now. An environment
mark would not do: the kernel shows the environment a program was started with, and jobs of a life
are forked, too. Who lost its parent is a child of the life, which adopts orphans, so none hides.
"""

import ctypes
import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

ROLES = ("job", "nursery", "worker")
CHILD = "users-child"  # forked by the user's code, and left to itself
_PR_SET_NAME = 15
_libc = ctypes.CDLL(None)


def mark(text: str) -> None:
    """Name this process; what it forks from now on has the name, too."""
    _libc.prctl(_PR_SET_NAME, text[:15].encode(), 0, 0, 0)


def mark_as(role: str, job: str) -> None:
    mark(f"{role}.{job}")


def marked(pid: int) -> str:
    """Return the mark of a process; empty: it is not there."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def state(pid: int) -> str:
    """Return the kernel's letter for what a process does; X: it is not there."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "X"


def children(pid: int) -> list[int]:
    """Return the children of a process, of all its threads."""
    found: list[int] = []
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with suppress(OSError):
                found += map(int, Path(f"/proc/{pid}/task/{thread}/children").read_text().split())
    return found


def below(pid: int) -> Iterator[int]:
    """Yield all processes below one, but those that have ended."""
    for child in children(pid):
        yield from below(child)
        if state(child) not in "ZX":
            yield child


def found(*roles: str, job: str = "") -> list[int]:
    """Return processes of these roles below us, of one job or of all."""
    wanted = {f"{role}.{job}" for role in roles}
    return [
        pid
        for pid in below(os.getpid())
        if (marked(pid) in wanted if job else marked(pid).partition(".")[0] in roles)
    ]


def users_children() -> list[int]:
    return [pid for pid in below(os.getpid()) if marked(pid) == CHILD]


def signal_all(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def told(pids: list[int]) -> str:
    """Say who processes are and what they do."""
    return ", ".join(f"{marked(pid) or '(gone)'} {pid} {state(pid)}" for pid in pids) or "none"
