"""What this machine is in a cluster: its name, where others get bytes from it, and its key."""

import os
import socket

from joader.cluster.interface import interface_address
from joader.cluster.key import key as cluster_key
from joader.cluster.leader_address import Address
from joader.cluster.listener import listening
from joader.cluster.tls import tls_asked_for
from joader.errors import BadArgument, NoDaemon
from joader.messages.nodes import Node

# How long this machine may take to say whether anybody listens at one of its own ports.
_ASKED_S = 1.0


def own_host(leader: Address) -> str:
    """Return the address under which others reach this node: of JOADER_INTERFACE, or as routed."""
    named = os.environ.get("JOADER_INTERFACE", "")
    if named:
        return interface_address(named)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((leader.host, leader.port))  # nothing is sent
        except OSError as error:
            raise NoDaemon(f"no network leads to {leader}: {error}") from error
        return str(probe.getsockname()[0])


def this_node(address: Address, cores: int) -> tuple[Node, socket.socket]:
    """Return what this machine is called in a cluster, and a socket where others get bytes."""
    tls_asked_for()  # what is wrong with it is told now, not to whoever knocks
    host = own_host(address.resolved())
    port = os.environ.get("JOADER_CLUSTER_PORT", "0")
    if not port.isdecimal() or int(port) > 65535:
        raise BadArgument(f"JOADER_CLUSTER_PORT={port} is not a port; use 0 to 65535")
    try:
        sock = listening(host, int(port))
    except OSError as error:
        raise BadArgument(
            f"cannot listen at {host}:{port} for other nodes: {error}; set JOADER_INTERFACE or "
            "JOADER_CLUSTER_PORT"
        ) from error
    name = os.environ.get("JOADER_NODE") or socket.gethostname()
    life = 1 + int.from_bytes(os.urandom(6), "big")
    return Node(name, host, int(sock.getsockname()[1]), cores, life), sock


def key_for(address: Address) -> bytes:
    """Return the cluster's key; made here if there is none and this machine is to lead."""
    resolved = address.resolved()
    try:
        listening(resolved.host, 0).close()
    except OSError:
        return cluster_key()  # it is another machine
    try:
        # Who leads there already has a key, and another would not be let in with it.
        socket.create_connection((resolved.host, resolved.port), _ASKED_S).close()
    except OSError:
        return cluster_key(create=True)
    return cluster_key()
