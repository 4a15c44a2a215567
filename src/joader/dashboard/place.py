"""Where a dashboard is found: its address with the token, a lock, in the user's runtime folder.

One dashboard serves a runtime folder. Who holds the lock is the dashboard; the files beside it say
how to reach it, and are for the user alone. The token stays the same from one dashboard to the
next, so that what scrapes metrics need not be told again.
"""

import fcntl
import json
import os
import secrets
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from joader.config import runtime_folder, write_private

_TOKEN_BYTES = 24


@dataclass(frozen=True)
class Address:
    """How to reach a dashboard."""

    pid: int
    port: int
    token: str

    @property
    def url(self) -> str:
        """The page's address."""
        return f"http://127.0.0.1:{self.port}/?token={self.token}"


def token() -> str:
    """Return the user's token, made the first time."""
    path = token_path()
    with suppress(FileNotFoundError):
        known = path.read_text().strip()
        if len(known) >= _TOKEN_BYTES:
            return known
    made = secrets.token_urlsafe(_TOKEN_BYTES)
    write_private(path, f"{made}\n".encode())
    return made


def token_path() -> Path:
    """Return the file of the token."""
    return runtime_folder() / "dashboard.token"


def lock() -> int | None:
    """Return a descriptor that makes this process the dashboard; None if another is."""
    descriptor = os.open(
        runtime_folder() / "dashboard.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
    )
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def announce(address: Address) -> None:
    """Say how to reach this dashboard."""
    write_private(_address_path(), json.dumps(asdict(address)).encode())


def withdraw() -> None:
    """Say that there is none any more."""
    _address_path().unlink(missing_ok=True)


def running() -> Address | None:
    """Return how to reach the dashboard that runs, if one does."""
    held = lock()
    if held is not None:
        os.close(held)
        return None
    try:
        return Address(**json.loads(_address_path().read_text()))
    except (OSError, ValueError, TypeError):
        return None  # it has not begun to listen yet


def _address_path() -> Path:
    return runtime_folder() / "dashboard.json"
