"""Finding, starting and ending the daemon.

There is one daemon per user and socket. A process that starts or ends one holds a lock
(start_lock.py): four scripts started at once get one daemon, and a daemon that ends because it has
no jobs cannot miss one that is just connecting.
"""

import os
import signal
import socket
import struct
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from joader.config import runtime_folder
from joader.daemon import detach
from joader.daemon.start_lock import LOCK_S, LockHeld, no_place, start_lock
from joader.errors import NoDaemon
from joader.wire import readable

_START_S = 20.0
_QUEUE_S = 30
_POLL_S = 0.02
_LOG_TAIL_BYTES = 4096


def connected(path: Path) -> socket.socket | None:
    """Return a socket to the daemon that listens at `path`, or None."""
    sock = socket.socket(socket.AF_UNIX)
    # A daemon that hangs accepts no client; once its queue is full, connect() would block forever.
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("2l", _QUEUE_S, 0))
    try:
        sock.connect(os.fspath(path))
    except (FileNotFoundError, ConnectionRefusedError):
        sock.close()
        return None
    except BlockingIOError as error:
        sock.close()
        raise NoDaemon(f"the daemon at {path} has accepted no client for {_QUEUE_S} s") from error
    except OSError as error:
        sock.close()
        raise no_place(path, error) from error
    # Its samples are unpickled here, so the daemon must belong to this user.
    _, user = peer_of(sock)
    if user != os.getuid():
        sock.close()
        raise NoDaemon(
            f"the daemon at {path} is of user {user}, and this is user {os.getuid()}; set "
            "JOADER_RUNTIME to a folder of your own"
        )
    return sock


def peer_of(sock: socket.socket) -> tuple[int, int]:
    """Return the process and user at the other end; for a listening socket, the listener."""
    credentials = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    pid, user, _ = struct.unpack("3i", credentials)
    return pid, user


def connect_or_start(path: Path, timeout_s: float = LOCK_S) -> socket.socket:
    """Return a socket to the user's daemon, starting one if there is none.

    `timeout_s` is how long to wait for other processes that are starting or ending one.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        # Tried each time: the holder of the lock may have been stopped after its daemon came up.
        sock = connected(path)
        if sock is not None:
            return sock
        try:
            with start_lock(path, 0):
                return _connect_or_start(path)
        except LockHeld:
            if time.monotonic() >= deadline:
                raise
        time.sleep(_POLL_S)


def _connect_or_start(path: Path) -> socket.socket:
    """Start a daemon and return a socket to it; the lock must be held."""
    # Tried once more: another process may have started one before we got the lock.
    sock = connected(path)
    if sock is None:
        start(path, [f"--job={os.getpid()}"])
        sock = connected(path)
    if sock is None:
        raise NoDaemon(f"the daemon at {path} ended right after its start; see {log_path()}")
    return sock


def start(path: Path, arguments: list[str]) -> int:
    """Start a daemon in the background and wait until it listens; the lock must be held."""
    try:
        log = _open_log()
    except OSError as error:
        raise no_place(path, error) from error
    try:
        said_before = os.fstat(log).st_size
        pid = _detached(path.absolute(), arguments, log)
    finally:
        os.close(log)
    ended = _wait_until_it_listens(path, pid)
    if ended is None:
        return pid
    raise NoDaemon(
        f"cannot start a daemon at {path}: {_last_line(said_before) or ended}; see {log_path()}"
    )


def _open_log() -> int:
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
    log = os.open(log_path(), flags, 0o600)
    with suppress(OSError):
        os.fchmod(log, 0o600)  # names of files and rows are private; older versions used 0644
    return log


def _detached(path: Path, arguments: list[str], log: int) -> int:
    pid = detached(["joader.daemon.main", f"--socket={path}", *arguments], log)
    if pid is None:
        raise NoDaemon(f"cannot start a process for a daemon at {path}; see {log_path()}")
    return pid


def detached(module: list[str], log: int) -> int | None:
    """Start one of our modules as an orphan; return its process, or None if that failed."""
    command = [sys.executable, "-m", *module]
    started = subprocess.run(
        [sys.executable, "-I", "-S", os.path.abspath(detach.__file__), *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=log,
        start_new_session=True,
        cwd="/",  # not a folder of the job, so relative paths are made absolute
        env={**os.environ, "PYTHONPATH": _absolute(os.environ.get("PYTHONPATH", ""))},
        check=False,
    )
    said = started.stdout.strip()
    return int(said) if said else None


def _wait_until_it_listens(path: Path, pid: int) -> str | None:
    """Return None once it listens, or the reason why not; then it is killed."""
    try:
        process = os.pidfd_open(pid)  # by pid alone, another process might be killed
    except ProcessLookupError:
        return "it ended at once"
    try:
        deadline = time.monotonic() + _START_S
        while time.monotonic() < deadline:
            probe = connected(path)
            if probe is not None:
                probe.close()
                return None
            if readable(process, _POLL_S):
                return "it ended at once"
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(process, signal.SIGKILL)
        return f"it did not listen within {_START_S:.0f} s"
    finally:
        os.close(process)


def _last_line(start: int) -> str:
    """Return the last line of the log after this byte: the error, if it is a traceback."""
    with suppress(OSError), log_path().open("rb") as log:
        size = log.seek(0, os.SEEK_END)
        # A log that is shorter now was cut in the meantime (`keep_short`, main.py).
        log.seek(max(start if start <= size else 0, size - _LOG_TAIL_BYTES))
        lines = log.read().decode(errors="replace").strip().splitlines()
        return lines[-1].strip().removeprefix("joader: ") if lines else ""
    return ""


def _absolute(paths: str) -> str:
    return os.pathsep.join(os.path.abspath(path) for path in paths.split(os.pathsep) if path)


def log_path() -> Path:
    """Return the path of the log of a background daemon."""
    return runtime_folder() / "daemon.log"
