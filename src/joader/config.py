"""Where things are and how large they are by default, and environment variables that change it.

JOADER_ADDRESS   the daemon's socket (a path), instead of the user's own
JOADER_RUNTIME   the folder for socket, lock and log, instead of the user's runtime folder
JOADER_IDLE_S    seconds without a job after which a daemon that a job started ends; 0: never
JOADER_CLUSTER   where a cluster's leader is (HOST:PORT, or auto), for daemons that jobs start, too
JOADER_LOG_FORMAT  of a daemon's log: "text" or "json", a line of JSON per event
JOADER_QUIET     1: no line at the end of a job about what it saved
JOADER_CACHE     the folder for rebuildable files (indexes, what is known of recipes), instead of
                 the user's cache folder
JOADER_CATALOG   the folder for named tables, instead of the user's data folder
"""

import math
import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from joader.errors import BadArgument, NoDaemon

# The longest path of a Unix socket, without the terminating zero.
_SOCKET_PATH_BYTES = 107
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


def runtime_folder() -> Path:
    """Return the user's folder for socket, lock and log, creating it with mode 0700."""
    named = os.environ.get("JOADER_RUNTIME")
    # Absolute, as the daemon runs in another folder than the job that names it.
    folder = Path(named).absolute() if named else _users_runtime()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.stat() if named else folder.lstat()
    except OSError as error:
        raise NoDaemon(
            f"cannot create {folder}, the folder for the daemon's socket: {error}; set "
            "JOADER_RUNTIME to a folder of your own"
        ) from error
    wrong = ""
    if stat.S_ISLNK(found.st_mode):  # in /tmp anybody may have put it there
        wrong = "is a symbolic link"
    elif found.st_uid != os.getuid():
        wrong = "belongs to another user"
    elif found.st_mode & 0o022:
        wrong = f"can be written by others (mode {stat.S_IMODE(found.st_mode):04o})"
    if wrong:
        raise NoDaemon(f"{folder} {wrong}; set JOADER_RUNTIME to a folder of your own")
    return folder


def _users_runtime() -> Path:
    """Return the default folder: the session's, or else one in /tmp.

    `su`, cron and a session that has ended leave XDG_RUNTIME_DIR set to a folder that belongs to
    another user or is gone. It is never created here: the system may create it later.
    """
    session = Path(os.environ.get("XDG_RUNTIME_DIR") or "/nonexistent")
    with suppress(OSError):
        if session.is_absolute() and session.stat().st_uid == os.getuid():
            return session / "joader"
    return Path("/tmp") / f"joader-{os.getuid()}"


def cache_folder() -> Path:
    """Return the user's folder for rebuildable files, creating it with mode 0700."""
    named = os.environ.get("JOADER_CACHE")
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = Path(named).absolute() if named else home / "joader"
    with suppress(OSError):  # without it everything is rebuilt each time
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def catalog_folder() -> Path:
    """Return the user's folder for named tables; it may not exist yet."""
    named = os.environ.get("JOADER_CATALOG")
    home = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return Path(named).absolute() if named else home / "joader"


def socket_path() -> Path:
    """Return where the daemon listens."""
    path = Path(os.environ.get("JOADER_ADDRESS") or runtime_folder() / "daemon.sock").absolute()
    if len(os.fsencode(path)) > _SOCKET_PATH_BYTES:
        raise BadArgument(
            f"the socket's path {path} is too long (at most {_SOCKET_PATH_BYTES} bytes); "
            "set JOADER_RUNTIME to a shorter folder"
        )
    return path


@dataclass(frozen=True)
class DaemonConfig:
    """What `joader up` can set."""

    memory_bytes: int
    workers: int
    idle_s: float = 60.0  # ends after this long without a client; 0: never
    worker_growth_bytes: int = 0  # a worker that grows by more is replaced; 0: by its share
    workers_given: bool = False  # no more are active at a time, wherever jobs run
    policy: str = "fair"  # who gets how much of the workers' time
    cpu: float = 1.0  # which part of the cores workers and daemon may use
    started_by: int = 0  # the process of the job that started it; 0: `joader up`


def cpu_part(text: str) -> float:
    """Read a part of the cores as people write it: 80%."""
    try:
        value = float(text.strip().removesuffix("%")) / 100 if "%" in text else -1.0
    except ValueError:
        value = -1.0
    if not 0.0 < value <= 1.0:
        raise BadArgument(
            f"--cpu={text} is not a part of the cores; write a percentage above 0% and up to 100%, "
            "for example 80%"
        )
    return value


def size_in_bytes(text: str) -> int:
    """Read sizes as people write them: 8GiB, 500MB, 1.5g, 4096."""
    word = text.strip().lower().removesuffix("b")
    binary = word.endswith("i")
    word = word.removesuffix("i")
    unit = word[-1:] if word[-1:].isalpha() else ""
    factor = (_BINARY if binary else _UNITS).get(unit)
    try:
        value = float(word.removesuffix(unit) if unit else word)
    except ValueError:
        value = -1.0
    if factor is None or not 1 <= value * factor < math.inf:
        raise BadArgument(f"{text!r} is not a size; write 8GiB or 500MB, for example")
    return int(value * factor)


def write_private(path: Path, body: bytes, *, replace: bool = True) -> None:
    """Write a file that only the user can read: whole or not at all, and no part of it is left.

    If `replace` is False and there is one, FileExistsError; of several writers one is first.
    """
    # On a home that machines share a process's number is not enough.
    part = path.with_name(f"{path.name}.{os.getpid()}-{os.urandom(4).hex()}")
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(body)
        if replace:
            part.replace(path)
        else:
            os.link(part, path)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
