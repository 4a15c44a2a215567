"""How much memory and how many cores the daemon may use, within the limits of its cgroups.

A container sees the memory and the cores of the whole machine; its limits are in the files of its
cgroup and of every cgroup above it. Versions 2 and 1 are read, also mixed. Every function takes the
folder that contains /proc and /sys, so that tests can bring their own.
"""

import math
import os
from collections.abc import Iterator
from pathlib import Path

from joader.config import DaemonConfig
from joader.errors import BadArgument, WorldError

_ROOT = Path("/")
_MOST_BYTES = 8 * 2**30
_IDLE_S = 60.0


def default_config(root: Path = _ROOT) -> DaemonConfig:
    """Return the defaults: a quarter of the free memory up to 8 GiB, and one worker per core."""
    return DaemonConfig(min(free_bytes(root) // 4, _MOST_BYTES), cores(root), idle_s=_idle_s())


def check_memory(asked_bytes: int, root: Path = _ROOT) -> None:
    """Refuse more memory than is free: the kernel would kill the daemon in the middle of a pass."""
    free = free_bytes(root)
    if asked_bytes > free:
        raise WorldError(
            f"{asked_bytes} bytes of memory are more than the {free} that are free here now "
            "(for the machine and every cgroup around this process); give less with --memory, or "
            "make room"
        )


def free_bytes(root: Path = _ROOT) -> int:
    """Return how much memory is free: the minimum over the machine and all cgroups."""
    found = _meminfo(root)
    # Without MemAvailable, MemFree is a safe guess: it is less.
    free = [found["MemAvailable"] if "MemAvailable" in found else found["MemFree"]]
    if _text(root / "proc/sys/vm/overcommit_memory") == "2":
        # With these limits the kernel refuses pages, which is a bus error for shared memory.
        free.append(found["CommitLimit"] - found["Committed_AS"])
    for folder in _cgroups(root, "memory"):
        limit = _number(folder / "memory.max", folder / "memory.limit_in_bytes")
        used = _number(folder / "memory.current", folder / "memory.usage_in_bytes")
        if limit is not None and used is not None:
            free.append(limit - used + _reclaimable(folder))
    return max(0, min(free))


def total_bytes(root: Path = _ROOT) -> int:
    """Return how much memory the machine has, regardless of limits."""
    return _meminfo(root).get("MemTotal", 0)


def cores(root: Path = _ROOT) -> int:
    """Return how many cores can be kept busy: the CPU set, or the quota rounded up if less."""
    count = float(len(os.sched_getaffinity(0)))
    for folder in _cgroups(root, "cpu"):
        words = _text(folder / "cpu.max").split()
        if not words:
            words = [_text(folder / f"cpu.cfs_{name}_us") for name in ("quota", "period")]
        if len(words) == 2 and all(word.isdecimal() for word in words) and int(words[1]):
            count = min(count, int(words[0]) / int(words[1]))
    return max(1, math.ceil(count))


def cgroup(root: Path = _ROOT) -> str:
    """Return the cgroup that our memory is charged to, as /proc names it; "" if there is none."""
    found = {}
    # Version 1 has a line per controller, version 2 one line without a name.
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, names, path = line.split(":", 2)
        for name in names.split(","):
            found[name] = path
    return found.get("memory") or found.get("") or ""


def home(root: Path = _ROOT) -> str:
    """Name what limits the CPU time of this process: its cgroup and its cores."""
    cpus = sorted(os.sched_getaffinity(0))
    return f"{cgroup(root)} on {','.join(map(str, cpus))}"


def _cgroups(root: Path, controller: str) -> Iterator[Path]:
    """Return the folders of our cgroups for a controller, from the innermost to the outermost.

    Without a cgroup namespace, a container is given a path that it cannot see; the top of the tree
    that it does see is its own cgroup.
    """
    tree = root / "sys/fs/cgroup"
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, names, path = line.split(":", 2)
        tops = [tree / names] if controller in names.split(",") else []
        if tops:
            tops.append(tree / controller)
        if not names:
            tops = [tree, tree / "unified"]
        for top in tops:
            own = top / path.lstrip("/")
            for folder in [own, *own.parents]:
                if folder.is_relative_to(top) and folder.is_dir():
                    yield folder


def _reclaimable(folder: Path) -> int:
    """Return the bytes of cached files, which count as used but can be reclaimed."""
    lines = [line.split() for line in _text(folder / "memory.stat").splitlines()]
    values = {words[0]: int(words[1]) for words in lines if len(words) == 2}
    return values.get("total_inactive_file", values.get("inactive_file", 0))


def _meminfo(root: Path) -> dict[str, int]:
    lines = [line.split() for line in _text(root / "proc/meminfo").splitlines()]
    return {words[0].rstrip(":"): int(words[1]) * 1024 for words in lines if len(words) == 3}


def _number(*paths: Path) -> int | None:
    """Return the number in the first file that has one; "max" is none."""
    found = (_text(path) for path in paths)
    return next((int(text) for text in found if text.isdecimal()), None)


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _idle_s() -> float:
    text = os.environ.get("JOADER_IDLE_S", "") or str(_IDLE_S)
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < math.inf:
        raise BadArgument(f"JOADER_IDLE_S is {text!r}; give seconds, 0 for a daemon that stays")
    return value
