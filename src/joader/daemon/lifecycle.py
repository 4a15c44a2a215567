"""Finding, starting and ending the daemon.

One daemon per user and socket. Who wants to start or end one holds a lock (start_lock.py): four
scripts started at once get one daemon, and a daemon that ends for want of jobs cannot miss one that
is just connecting.
"""

import os
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

from joader.config import runtime_folder
from joader.daemon.start_lock import LOCK_S, LockHeld, no_place, start_lock
from joader.errors import NoDaemon

_START_S = 20.0
_QUEUE_S = 30
_POLL_S = 0.02


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
        raise no_place(path, error) from error
    # It will be sent code, and what it sends is unpickled: it has to be the user's own.
    _, user = peer_of(sock)
    if user != os.getuid():
        sock.close()
        raise NoDaemon(
            f"the daemon at {path} is of user {user}, and this is user {os.getuid()}; set "
            "JOADER_RUNTIME to a folder of your own"
        )
    return sock


def peer_of(sock: socket.socket) -> tuple[int, int]:
    """Return process and user at the other end; of a listening socket, those who listen."""
    credentials = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    pid, user, _ = struct.unpack("3i", credentials)
    return pid, user


def connect_or_start(path: Path, timeout_s: float = LOCK_S) -> socket.socket:
    """Return a socket to the user's daemon, starting one if there is none.

    `timeout_s`: how long to wait for others who are starting or ending one.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        # Looked for again each time: who holds the lock may be stopped after its daemon came up.
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
    """Do it under the lock."""
    sock = connected(path)
    if sock is None:
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
        raise no_place(path, error) from error
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


def _absolute(paths: str) -> str:
    return os.pathsep.join(os.path.abspath(path) for path in paths.split(os.pathsep) if path)


def log_path() -> Path:
    """Return where a daemon in the background writes what it has to say."""
    return runtime_folder() / "daemon.log"
