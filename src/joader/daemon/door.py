"""The daemon's listening socket, its name in the file system, and how many clients it can serve.

The name is removed before the socket is closed, and only if it is still ours: while a daemon
answers at a name no other takes it over, and a name created after ours was removed belongs to
another daemon. Only a socket is ever removed: any other file at that path is user data.
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
_OF_A_WORKER = 6  # its socket, process and page; while it starts, their other ends, and a pipe
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
        # A umask, because a chmod after bind() would leave a moment in which others can connect.
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
        # Kept open so that no other file gets the inode number that identifies ours.
        self._name = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
        self.listener.listen(128)
        self.listener.setblocking(False)

    @property
    def visible(self) -> bool:
        """Whether the name in the file system still leads to this socket."""
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
        # In this order: a name without a listener looks like that of a dead daemon.
        self.hide()
        self.listener.close()


def _clear(path: Path) -> None:
    """Remove the socket file of a daemon that is gone."""
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
    """Send the reason for a refusal, if that is possible without waiting, and close."""
    try:
        sock.setblocking(False)
        sock.send(frame(Refuse(reason)))
    except OSError:
        pass
    finally:
        sock.close()


def most_clients(workers: int) -> int:
    """Return how many clients the process's file descriptors suffice for.

    First raises the process's own limit, as far as needed and allowed.
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
