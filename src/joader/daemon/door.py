"""Where clients knock: the listening socket, its name in the file system, how many may come in.

The name is removed before the socket is closed, and only if it is still ours: as long as somebody
answers there no other daemon takes the name, and a name taken after ours was removed is not ours.
Only a socket is ever removed: anything else in its place is somebody's data.
"""

import os
import resource
import socket
import stat
from pathlib import Path

from joader.daemon.lifecycle import connected
from joader.daemon.start_lock import no_place
from joader.errors import BadArgument, WorldError
from joader.messages import Refuse
from joader.wire import frame

_MOST_CLIENTS = 1000
_LEAST_CLIENTS = 8
_OF_A_CLIENT = 2  # descriptors: its socket, and its process
_OF_A_WORKER = 6  # its socket, process and desk; while it is started the other ends, and a pipe
_OF_THE_DAEMON = 32


class Door:
    """A listening socket, for the user only; a dead daemon's name is taken over."""

    def __init__(self, path: Path) -> None:
        """Listen at this path; BadArgument if a daemon already does."""
        other = connected(path)
        if other is not None:
            other.close()
            raise BadArgument(f"a daemon already listens at {path}; `joader status` shows it")
        self.path = path
        self.listener = socket.socket(socket.AF_UNIX)
        # Only the user may connect, from the first moment: a chmod after bind() is too late.
        before = os.umask(0o177)
        try:
            _clear(path)
            self.listener.bind(os.fspath(path))
        except BadArgument:
            self.listener.close()
            raise
        except OSError as error:
            self.listener.close()
            raise no_place(path, error) from error
        finally:
            os.umask(before)
        # Kept open: until it is closed no other file gets its inode number, by which we know it.
        self._name = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
        self.listener.listen(128)
        self.listener.setblocking(False)

    @property
    def visible(self) -> bool:
        """Whether clients can find it."""
        if self._name < 0:
            return False
        try:
            return os.path.samestat(self.path.lstat(), os.fstat(self._name))
        except OSError:
            return False

    def hide(self) -> None:
        """Remove the name, if it is still ours."""
        if self.visible:
            self.path.unlink(missing_ok=True)
        if self._name >= 0:
            os.close(self._name)
            self._name = -1

    def close(self) -> None:
        """Remove the name and stop listening."""
        # In this order: a name at which nobody listens looks like that of a dead daemon.
        self.hide()
        self.listener.close()


def _clear(path: Path) -> None:
    """Remove the name of a daemon that is gone."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise BadArgument(
            f"{path} is not a socket; remove it, or set JOADER_ADDRESS or JOADER_RUNTIME to "
            "another place"
        )
    path.unlink()


def turn_away(sock: socket.socket, reason: str) -> None:
    """Say why somebody cannot come in, if that can be sent without waiting, and close."""
    try:
        sock.setblocking(False)
        sock.send(frame(Refuse(reason)))
    except OSError:
        pass
    finally:
        sock.close()


def most_clients(workers: int) -> int:
    """Return for how many clients the process has file descriptors.

    It first raises its own limit, as far as it needs to and the system allows.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = _OF_THE_DAEMON + _OF_A_WORKER * workers
    wanted = needed + _OF_A_CLIENT * _MOST_CLIENTS
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    count = _MOST_CLIENTS
    if soft != resource.RLIM_INFINITY:
        count = min(count, (soft - needed) // _OF_A_CLIENT)
    if count < _LEAST_CLIENTS:
        raise WorldError(
            f"{soft} file descriptors are too few for {workers} workers and their clients; allow "
            f"at least {needed + _OF_A_CLIENT * _LEAST_CLIENTS} (ulimit -n), or use fewer workers"
        )
    return count
