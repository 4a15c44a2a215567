"""The address of a cluster's leader, as people write it."""

import socket
from dataclasses import dataclass, replace

from joader.errors import BadArgument

DEFAULT_PORT = 27117


@dataclass(frozen=True)
class Address:
    """Host and port at which the leader listens."""

    host: str
    port: int

    @classmethod
    def read(cls, text: str) -> "Address":
        """Read HOST:PORT; without a port it is DEFAULT_PORT."""
        host, _, port = text.rpartition(":") if ":" in text else (text, "", str(DEFAULT_PORT))
        if not host or not port.isdecimal() or not 0 < int(port) < 65536:
            raise BadArgument(
                f"--cluster={text} is not an address; write HOST:PORT of the node that leads, for "
                f"example node1:{DEFAULT_PORT}, or auto under Slurm or torchrun"
            )
        return cls(host, int(port))

    def resolved(self) -> "Address":
        """Return the address with a resolved host; raise BadArgument if the name is unknown."""
        try:
            found = socket.getaddrinfo(self.host, self.port, socket.AF_INET, socket.SOCK_STREAM)
        except OSError as error:
            raise BadArgument(
                f"--cluster={self.host}:{self.port}: no machine is named {self.host!r} here "
                f"({error}); use the name or IP address of the node that leads"
            ) from error
        return replace(self, host=str(found[0][4][0]))

    def __str__(self) -> str:
        """Return HOST:PORT."""
        return f"{self.host}:{self.port}"
