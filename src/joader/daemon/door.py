"""Where clients knock: the listening socket, and its name in the file system.

The name is removed before the socket is closed, and only if it is still ours: as long as somebody
answers there no other daemon takes the name, and a name taken after ours was removed is another's.
"""

import os
import socket
from pathlib import Path

from joader.daemon.lifecycle import connected
from joader.errors import BadArgument


class Door:
    """A listening socket, for the user only; a dead daemon's name is taken over."""

    def __init__(self, path: Path) -> None:
        """Listen; BadArgument where another daemon does."""
        other = connected(path)
        if other is not None:
            other.close()
            raise BadArgument(f"a daemon listens at {path} already; `joader status` shows it")
        path.unlink(missing_ok=True)
        self.path = path
        self.listener = socket.socket(socket.AF_UNIX)
        before = os.umask(0o177)
        try:
            self.listener.bind(os.fspath(path))
        finally:
            os.umask(before)
        self._identity = self._found()
        self.listener.listen(128)
        self.listener.setblocking(False)

    @property
    def visible(self) -> bool:
        """Whether clients can find it."""
        return self._identity is not None and self._found() == self._identity

    def hide(self) -> None:
        """Remove the name, if it is still ours."""
        if self.visible:
            self.path.unlink(missing_ok=True)
        self._identity = None

    def close(self) -> None:
        """Remove the name and stop to listen."""
        self.hide()
        self.listener.close()

    def _found(self) -> tuple[int, int] | None:
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_ino, found.st_ctime_ns
