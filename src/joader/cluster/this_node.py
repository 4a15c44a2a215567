"""What this machine is in a cluster: its name, the address where others get bytes from it, its key.

The address is that of JOADER_INTERFACE (an address, or the name of an interface); without it, the
one from which the route to the leader starts.
"""

import fcntl
import ipaddress
import os
import socket
import struct

from joader.cluster.key import key as cluster_key
from joader.cluster.leader_address import Address
from joader.cluster.listener import listening
from joader.cluster.tls import tls_asked_for
from joader.errors import BadArgument, NoDaemon, NoData
from joader.messages.nodes import Node

# How long a connection to a port of this machine may take.
_ASKED_S = 1.0


def own_host(leader: Address) -> str:
    """Return the address at which others reach this node: JOADER_INTERFACE's, or as routed."""
    named = os.environ.get("JOADER_INTERFACE", "")
    if named:
        return interface_address(named)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((leader.host, leader.port))  # nothing is sent
        except OSError as error:
            raise NoDaemon(f"no route leads to {leader}: {error}") from error
        return str(probe.getsockname()[0])


def this_node(address: Address, cores: int) -> tuple[Node, socket.socket]:
    """Return this machine as a node of a cluster, and a socket where others get bytes."""
    tls_asked_for()  # fail now if it is misconfigured, not when a node connects
    leader = address.resolved()
    host = own_host(leader)
    port = os.environ.get("JOADER_CLUSTER_PORT", "0")
    if not port.isdecimal() or int(port) > 65535:
        raise BadArgument(f"JOADER_CLUSTER_PORT={port} is not a port; use 0 to 65535")
    if (host, int(port)) == (leader.host, leader.port):
        raise BadArgument(f"JOADER_CLUSTER_PORT={port} is where the leader listens; use another")
    try:
        sock = listening(host, int(port))
        if sock.getsockname()[1] == leader.port:  # by chance; the leader needs it
            other = listening(host, int(port))
            sock.close()
            sock = other
    except OSError as error:
        raise BadArgument(
            f"cannot listen at {host}:{port} for other nodes: {error}; set JOADER_INTERFACE or "
            "JOADER_CLUSTER_PORT"
        ) from error
    name = os.environ.get("JOADER_NODE") or socket.gethostname()
    life = 1 + int.from_bytes(os.urandom(6), "big")
    return Node(name, host, int(sock.getsockname()[1]), cores, life), sock


def key_for(address: Address) -> bytes:
    """Return the cluster's key; make one if there is none and this machine may lead."""
    resolved = address.resolved()
    try:
        return cluster_key()
    except NoData:
        if not _is_ours(resolved.host) or _is_taken(resolved):
            raise  # a leader runs there and has a key; another one would be useless
    return cluster_key(create=True)


def _is_ours(host: str) -> bool:
    """Return whether an address belongs to this machine."""
    try:
        listening(host, 0).close()
    except OSError:
        return False
    return True


def _is_taken(address: Address) -> bool:
    """Return whether a process listens at an address of this machine."""
    try:
        socket.create_connection((address.host, address.port), _ASKED_S).close()
    except OSError:
        return False
    return True


_SIOCGIFADDR = 0x8915


def interface_address(named: str) -> str:
    """Return the address of an interface such as ib0; an address is returned as it is."""
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
