"""Where other nodes reach this one: the interface and port that a person named, or as routed."""

import socket

import pytest

from joader.cluster import this_node as this_node_module
from joader.cluster.leader_address import Address
from joader.cluster.this_node import interface_address, own_host, this_node
from joader.errors import BadArgument

LEADER = Address("127.0.0.1", 27117)


def port_of(sock: socket.socket) -> int:
    with sock:
        return int(sock.getsockname()[1])


def test_an_interface_is_found_by_its_name_and_an_address_is_its_own() -> None:
    assert interface_address("lo") == "127.0.0.1"
    assert interface_address("127.0.0.3") == "127.0.0.3"
    assert interface_address("::1") == "::1"


def test_the_interface_that_is_named_is_the_only_one_where_a_node_listens(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("JOADER_INTERFACE", "127.0.0.3")
    node, sock = this_node(LEADER, cores=2)
    with sock:
        assert (node.host, node.port) == sock.getsockname()
        assert node.host == "127.0.0.3"
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", node.port), 1.0)


def test_without_one_it_is_the_address_that_leads_to_the_leader(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("JOADER_INTERFACE", raising=False)
    assert own_host(LEADER) == "127.0.0.1"


def test_an_interface_that_is_none_is_told_with_those_that_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("JOADER_INTERFACE", "ib7")
    with pytest.raises(BadArgument, match=r"ib7 is not an interface .*; this machine has .*lo"):
        this_node(LEADER, cores=2)


def test_a_node_leaves_the_leader_its_port(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        leader = Address("127.0.0.1", int(free.getsockname()[1]))
    listening, ports = this_node_module.listening, iter((leader.port, 0))
    # The first port that the system gives is the leader's.
    monkeypatch.setattr(this_node_module, "listening", lambda host, _: listening(host, next(ports)))
    node, sock = this_node(leader, cores=2)
    assert node.port == port_of(sock) != leader.port
    monkeypatch.setenv("JOADER_CLUSTER_PORT", str(leader.port))
    with pytest.raises(BadArgument, match="is where the leader listens"):
        this_node(leader, cores=2)


def test_the_port_that_is_named_is_used_and_one_that_is_taken_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("JOADER_INTERFACE", "127.0.0.1")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
        monkeypatch.setenv("JOADER_CLUSTER_PORT", str(port))
        with pytest.raises(BadArgument, match="set JOADER_INTERFACE or JOADER_CLUSTER_PORT"):
            this_node(LEADER, cores=2)
    node, sock = this_node(LEADER, cores=2)
    assert node.port == port == port_of(sock)
    for wrong in ("x", "70000", "-1"):
        monkeypatch.setenv("JOADER_CLUSTER_PORT", wrong)
        with pytest.raises(BadArgument, match="is not a port; use 0 to 65535"):
            this_node(LEADER, cores=2)
