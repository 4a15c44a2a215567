"""A leader and members by real sockets, in one process."""

import asyncio
import socket
from collections.abc import Mapping
from unittest import mock

import pytest

from joader.cluster import address as address_module
from joader.cluster import leader as leader_module
from joader.cluster.address import ByAddress
from joader.cluster.contract import LASTING
from joader.cluster.leader_address import Address
from joader.errors import JoaderError, NoDaemon, Refusal
from joader.messages.nodes import Members, Node

KEY = b"k" * 32


class Seen:
    """What a node was told."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.versions: list[int] = []
        self.values: dict[tuple[str, str], bytes] = {}

    def members_changed(self, members: Members) -> None:
        self.names = sorted(node.name for node in members.nodes)
        self.versions.append(members.version)

    def said(self, node: str, values: Mapping[str, bytes]) -> None:
        self.values |= {(node, name): value for name, value in values.items()}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return int(sock.getsockname()[1])


def member(name: str, port: int, key: bytes = KEY, life: int = 1) -> tuple[ByAddress, Seen]:
    seen = Seen()
    node = Node(name, "127.0.0.1", 1, life=life)
    return ByAddress(Address("127.0.0.1", port), key, node, seen), seen


async def until(condition: object, timeout_s: float = 5.0) -> None:
    assert callable(condition)
    for _ in range(int(timeout_s / 0.01)):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not happen in time")


async def test_whoever_comes_first_leads_and_all_know_who_is_there() -> None:
    port = free_port()
    (a, seen_a), (b, seen_b) = member("a", port), member("b", port)
    await a.join()
    await b.join()
    assert (a.leads, b.leads) == (True, False)
    await until(lambda: seen_a.names == seen_b.names == ["a", "b"])
    assert seen_a.versions == sorted(set(seen_a.versions))
    await b.leave()
    await until(lambda: seen_a.names == ["a"])
    await a.leave()


async def test_values_reach_all_and_those_who_come_later() -> None:
    port = free_port()
    (a, seen_a), (b, seen_b), (c, seen_c) = (member(name, port) for name in "abc")
    await a.join()
    a.say({"x": b"1", "y": b"2"})
    await b.join()
    await until(lambda: seen_b.values == {("a", "x"): b"1", ("a", "y"): b"2"})
    a.say({"x": b"3", "y": b""})
    await until(lambda: seen_b.values[("a", "y")] == b"")
    await c.join()
    await until(lambda: seen_c.values == {("a", "x"): b"3"})
    b.say({"z": b"4"})
    await until(lambda: seen_a.values == {("b", "z"): b"4"} and ("b", "z") in seen_c.values)
    for one in (c, b, a):
        await one.leave()


async def test_what_lasts_outlives_who_has_said_it_and_the_greatest_counts() -> None:
    port = free_port()
    (a, _), (b, seen_b), (c, seen_c) = (member(name, port) for name in "abc")
    await a.join()
    await b.join()
    for value in (b"2", b"3", b"1"):
        b.say({f"{LASTING}x": value, "y": value})
        a.say({f"{LASTING}x": b"0", "seen": value})
        await until(lambda value=value: seen_b.values.get(("a", "seen")) == value)
    await b.leave()
    await c.join()
    # It is there with the members: who asks then has heard of it.
    assert seen_c.values["", f"{LASTING}x"] == b"3"
    assert ("b", "y") not in seen_c.values
    for one in (c, a):
        await one.leave()


async def test_two_nodes_of_one_name_are_told() -> None:
    port = free_port()
    (a, _), (other, _) = member("a", port), member("a", port, life=2)
    await a.join()
    with pytest.raises(Refusal, match="set JOADER_NODE"):
        await other.join()
    await a.leave()


async def test_a_wrong_key_is_told() -> None:
    port = free_port()
    (a, _), (b, _) = member("a", port), member("b", port, b"o" * 32)
    await a.join()
    with pytest.raises(JoaderError, match="another cluster key"):
        await b.join()
    await a.leave()


async def test_an_address_where_nobody_leads_is_told_in_time() -> None:
    # The address is of another machine, so nobody here can lead.
    with (
        mock.patch.object(address_module, "FIRST_S", 0.5),
        mock.patch.object(address_module, "listening", side_effect=OSError),
    ):
        a, _ = member("a", free_port())
        with pytest.raises(NoDaemon, match="no joader daemon leads a cluster at"):
            await a.join()


async def test_a_leader_that_is_gone_is_met_again_with_all_that_was_said() -> None:
    port = free_port()
    with mock.patch.object(address_module, "AGAIN_S", 0.1):
        (a, _), (b, seen_b), (c, seen_c) = (member(name, port) for name in "abc")
        await a.join()
        await b.join()
        await c.join()
        b.say({"x": b"1"})
        await until(lambda: ("b", "x") in seen_c.values)
        await a.leave()
        seen_c.values.clear()
        b.say({"y": b"2"})
        await until(lambda: b.reached and c.reached and (b.leads or c.leads))
        await until(lambda: seen_b.names == seen_c.names == ["b", "c"])
        await until(lambda: seen_c.values == {("b", "x"): b"1", ("b", "y"): b"2"})
        for one in (c, b):
            await one.leave()


async def test_a_member_that_says_nothing_is_gone() -> None:
    port = free_port()
    (a, seen_a), (b, _) = member("a", port), member("b", port)
    await a.join()
    await b.join()
    await until(lambda: seen_a.names == ["a", "b"])
    assert b._desk is not None
    assert a._leader is not None
    seats = a._leader._seats

    def alone_after_long_silence() -> bool:
        if "b" in seats:  # what it said last may still be on its way, and counts from then
            seats["b"]._heard -= leader_module.SILENT_S
        return seen_a.names == ["a"]

    with mock.patch.object(b._desk, "send"):
        await until(alone_after_long_silence)
    for one in (b, a):
        await one.leave()
