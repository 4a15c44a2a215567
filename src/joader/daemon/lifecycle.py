"""Finding, starting and ending the daemon.

One daemon a user and socket. Who wants to start or end one holds a lock (flock on a file beside the
socket): four scripts started at once get one daemon, and a daemon that ends for want of jobs cannot
miss one that is just connecting. The lock goes with its holder's process, so none goes stale.
"""

import fcntl
import os
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from joader.config import runtime_folder
from joader.errors import NoDaemon

_START_S = 20.0
_QUEUE_S = 30


@contextmanager
def start_lock(path: Path) -> Iterator[None]:
    """Hold the lock of a socket's daemon."""
    flags = os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        descriptor = os.open(f"{path}.lock", flags, 0o600)
    except OSError as error:
        raise _no_place(path, error) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def connected(path: Path) -> socket.socket | None:
    """Return a socket to a daemon that listens there, or None."""
    sock = socket.socket(socket.AF_UNIX)
    # A daemon that hangs accepts nobody, and when its queue is full connect() would wait for ever.
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("2l", _QUEUE_S, 0))
    try:
        sock.connect(os.fspath(path))
    except (FileNotFoundError, ConnectionRefusedError):
        sock.close()
        return None
    except BlockingIOError as error:
        sock.close()
        raise NoDaemon(f"the daemon at {path} has accepted nobody for {_QUEUE_S} s") from error
    except OSError as error:
        sock.close()
        raise _no_place(path, error) from error
    # It will be sent code, and what it sends is unpickled: it has to be the user's own.
    _, user, _ = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    if user != os.getuid():
        sock.close()
        raise NoDaemon(
            f"the daemon at {path} is of user {user}, and this is user {os.getuid()}; set "
            "JOADER_RUNTIME to a folder of your own"
        )
    return sock


def connect_or_start(path: Path) -> socket.socket:
    """Return a socket to the user's daemon, starting one if there is none."""
    sock = connected(path)
    if sock is not None:
        return sock
    with start_lock(path):
        sock = connected(path)
        if sock is not None:
            return sock
        start(path, [])
        sock = connected(path)
    if sock is None:
        raise NoDaemon(f"the daemon at {path} ended as soon as it had started; see {log_path()}")
    return sock


def start(path: Path, arguments: list[str]) -> int:
    """Start a daemon in the background and wait until it listens; the lock must be held."""
    try:
        log = log_path().open("ab")
    except OSError as error:
        raise _no_place(path, error) from error
    with log:
        process = subprocess.Popen(
            [sys.executable, "-m", "joader.daemon.main", f"--socket={path}", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            cwd="/",  # not a folder of the job; so relative paths are made absolute
            env={**os.environ, "PYTHONPATH": _absolute(os.environ.get("PYTHONPATH", ""))},
        )
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline:
        probe = connected(path)
        if probe is not None:
            probe.close()
            return process.pid
        if process.poll() is not None:
            break
        time.sleep(0.02)
    process.kill()
    tail = log_path().read_text(errors="replace")[-2000:]
    raise NoDaemon(f"no daemon could be started at {path}; the end of {log_path()}:\n{tail}")


def _no_place(path: Path, error: OSError) -> NoDaemon:
    """Say that the folder of the socket is of no use."""
    return NoDaemon(
        f"no daemon can be had at {path}: {error}; make room there and see that it is yours to "
        "write, or set JOADER_RUNTIME to another folder"
    )


def _absolute(paths: str) -> str:
    return os.pathsep.join(os.path.abspath(path) for path in paths.split(os.pathsep) if path)


def log_path() -> Path:
    """Return where a daemon in the background writes what it has to say."""
    return runtime_folder() / "daemon.log"
