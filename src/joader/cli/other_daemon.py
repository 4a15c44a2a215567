"""A daemon that speaks another protocol: an old one that still runs after an upgrade.

It refuses every client of this version, so it cannot be asked anything. Its refusal, and what the
kernel says about the listening process, are enough to show it and to stop it.
"""

import re
from dataclasses import dataclass

from joader.config import socket_path
from joader.daemon.lifecycle import connected, peer_of
from joader.errors import Refusal
from joader.messages import PROTOCOL
from joader.version import __version__

# What daemon/reception.py says, in every version so far.
_SPEAKS = re.compile(r"joader ([^\s,)]+).* speaks protocol (\d+)")


@dataclass(frozen=True)
class OtherDaemon:
    """What is known about it."""

    pid: int
    version: str
    protocol: int

    def __str__(self) -> str:
        """Say what it is, and what to do."""
        return (
            f"joader {self.version}, process {self.pid}, speaks protocol {self.protocol}, but this "
            f"is joader {__version__} with protocol {PROTOCOL}; `joader down` ends it, and the "
            "next job starts another"
        )


def other_daemon(refusal: Refusal) -> OtherDaemon:
    """Return the daemon that refused us because of its protocol; reraise any other refusal."""
    said = _SPEAKS.search(str(refusal))
    sock = connected(socket_path()) if said else None
    if said is None or sock is None:
        raise refusal
    with sock:
        pid, _ = peer_of(sock)
    if pid <= 0:  # in a container that we cannot look into
        raise refusal
    return OtherDaemon(pid, said[1], int(said[2]))
