"""Checks of the machine: memory, cores, limits, and what the kernel can do."""

import multiprocessing
import os
import platform
import resource
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from joader.cli.doctor.finding import Finding
from joader.cli.words import size
from joader.daemon.door import most_clients
from joader.daemon.machine import cgroup, cores, default_config, free_bytes
from joader.errors import JoaderError, WorldError
from joader.memory import Arena
from joader.version import __version__

_LITTLE_BYTES = 256 << 20
_TRY_BYTES = 1 << 20
_PACKAGES = ("numpy", "msgspec", "torch", "simplejpeg", "pillow", "pyarrow", "starlette")


def versions() -> Iterator[Finding]:
    """Say what is installed."""
    release, python = os.uname().release, platform.python_version()
    yield Finding("joader", f"{__version__}, Python {python}, Linux {release}")
    found = []
    for package in _PACKAGES:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            found.append(f"{package} -")
    yield Finding("packages", ", ".join(found))
    method = multiprocessing.get_start_method(allow_none=True) or "the default"
    ways = multiprocessing.get_all_start_methods()
    yield Finding(
        "start method", f"workers are born by {ways[0] if method == 'the default' else method}"
    )


def memory(root: Path = Path("/")) -> Iterator[Finding]:
    """Check that there is memory for samples, and that a cgroup does not take it back."""
    free = free_bytes(root)
    budget = default_config(root).memory_bytes
    words = f"{size(free)} can be taken now; a daemon would take up to {size(budget)}"
    if budget < _LITTLE_BYTES:
        yield Finding(
            *("memory", words, "warn"),
            "free some memory, raise the cgroup's limit, or give it a budget: joader up --memory",
        )
    else:
        yield Finding("memory", words)
    overcommit = _text(root / "proc/sys/vm/overcommit_memory")
    if overcommit == "2":
        yield Finding(
            *("overcommit", "strict (vm.overcommit_memory=2)", "warn"),
            "keep the budget small: pages beyond the commit limit are a bus error",
        )
    yield Finding("cgroup", cgroup(root) or "none")


def processors(root: Path = Path("/")) -> Iterator[Finding]:
    """Say how many workers can work at a time."""
    usable, seen = cores(root), os.cpu_count() or 1
    words = f"{usable} of {seen} can be used"
    if usable < seen:
        words += " (affinity, or the quota of a cgroup)"
    yield Finding("cores", words)


def limits() -> Iterator[Finding]:
    """Check descriptors and processes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        clients = most_clients(cores())
        yield Finding("descriptors", f"{soft} of at most {hard}: enough for {clients} jobs")
    except WorldError as error:
        yield Finding("descriptors", f"{soft} of at most {hard}", "bad", str(error))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    most = resource.getrlimit(resource.RLIMIT_NPROC)[0]
    if most != resource.RLIM_INFINITY and most < 8 * cores():
        yield Finding(
            *("processes", f"{most} at most", "warn"),
            "allow more (ulimit -u), or use fewer workers",
        )


def kernel() -> Iterator[Finding]:
    """Try what a daemon cannot do without: shared memory by descriptor, and watching processes."""
    try:
        os.close(os.pidfd_open(os.getpid()))
        yield Finding("pidfd", "processes can be watched")
    except (OSError, AttributeError) as error:
        yield Finding(
            *("pidfd", f"processes cannot be watched: {error}", "bad"),
            "use Linux 5.3 or newer, and allow pidfd_open in the container's seccomp filter",
        )
    try:
        arena = Arena(_TRY_BYTES)
        arena.touch(_TRY_BYTES)
        arena.close()
        yield Finding("memfd", "memory can be shared; /dev/shm is not used")
    except (OSError, JoaderError) as error:
        yield Finding(
            *("memfd", f"memory cannot be shared: {error}", "bad"),
            "allow memfd_create in the container's seccomp filter, and give it memory",
        )


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
