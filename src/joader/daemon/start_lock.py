"""The lock under which a daemon is started or ends: flock on a file next to its socket.

It ends with its holder's process, so it never goes stale. No process waits for it forever: its
holder may be stopped, and then the others load data without a daemon. The file names the holder,
for the message.

A child that the holder forks gets a copy of the descriptor, which would keep the lock while the
child lives. So a child closes it, and the holder unlocks before closing, which releases all copies.
"""

import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from joader.errors import NoDaemon

# Longer than a daemon may take to start (lifecycle.py), so that waiters see the start succeed.
LOCK_S = 30.0
_POLL_S = 0.02

_held: set[int] = set()  # open lock files of this process


class LockHeld(NoDaemon):
    """Name the lock and its holder."""


@contextmanager
def start_lock(path: Path, timeout_s: float = LOCK_S) -> Iterator[None]:
    """Hold the lock of a socket's daemon; raise LockHeld after waiting `timeout_s`."""
    descriptor = _opened(path)
    _held.add(descriptor)
    try:
        _take(descriptor, path, timeout_s)
        try:
            yield
        finally:
            with suppress(OSError):
                os.ftruncate(descriptor, 0)
            # Not by close() alone: a child's copy of the descriptor would keep the lock.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
    finally:
        _held.discard(descriptor)
        os.close(descriptor)


def no_place(path: Path, error: OSError) -> NoDaemon:
    """Name the folder that cannot be used, and the remedy."""
    what, then = error.strerror or str(error), "check its permissions and free space"
    if not path.parent.is_dir():
        what, then = f"the folder {path.parent} does not exist", "create it"
    return NoDaemon(
        f"cannot reach or start a daemon at {path}: {what}; {then}, or set JOADER_RUNTIME (or the "
        "address, if you gave one) to another folder"
    )


def _opened(path: Path) -> int:
    flags = os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        descriptor = os.open(f"{path}.lock", flags, 0o600)
    except OSError as error:
        raise no_place(path, error) from error
    found = os.fstat(descriptor)
    if found.st_uid != os.getuid() or not stat.S_ISREG(found.st_mode):
        os.close(descriptor)
        raise NoDaemon(
            f"{path}.lock is not your file (it belongs to user {found.st_uid}, who "
            "can keep it locked); set JOADER_RUNTIME to a folder of your own"
        )
    return descriptor


def _take(descriptor: int, path: Path, timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError as error:
            if time.monotonic() >= deadline:
                raise LockHeld(
                    f"{path}.lock, which is held while a daemon is started or ended, is taken: "
                    f"{_holder(descriptor)}"
                ) from error
            time.sleep(_POLL_S)
    with suppress(OSError):  # a full disk; the text is only for a message
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)


def _holder(descriptor: int) -> str:
    """Describe the holder of the lock, as far as its file names it."""
    text = os.pread(descriptor, 32, 0).decode("ascii", errors="replace")
    if not text.isdecimal():
        return "its holder is not known; `lslocks` shows it"
    try:
        command = Path(f"/proc/{text}/cmdline").read_bytes().replace(b"\0", b" ")
    except OSError:
        command = b""
    shown = " ".join(command.decode(errors="replace").split())[:100]
    return (
        f"process {text} ({shown or 'gone'}) may hold it; if it is stopped, let it go on or end it"
    )


def _close_in_child() -> None:
    while _held:
        os.close(_held.pop())


os.register_at_fork(after_in_child=_close_in_child)
