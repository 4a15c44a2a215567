"""Which of a machine's addresses other nodes use: JOADER_INTERFACE names it, or its interface."""

import fcntl
import ipaddress
import socket
import struct

from joader.errors import BadArgument

_SIOCGIFADDR = 0x8915


def interface_address(named: str) -> str:
    """Return the address of an interface, such as ib0; an address is its own."""
    try:
        return str(ipaddress.ip_address(named))
    except ValueError:
        pass
    request = struct.pack("256s", named.encode()[:15])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            answer = fcntl.ioctl(probe.fileno(), _SIOCGIFADDR, request)
        except OSError as error:
            known = ", ".join(name for _, name in socket.if_nameindex())
            raise BadArgument(
                f"JOADER_INTERFACE={named} is not an interface with an IPv4 address ({error}); "
                f"this machine has {known}"
            ) from error
    return socket.inet_ntoa(answer[20:24])
