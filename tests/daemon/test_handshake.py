"""The first words with a client."""

import asyncio
import os
import socket
from collections.abc import Iterator

import pytest

from joader.daemon import handshake as module
from joader.daemon.handshake import handshake, welcome
from joader.errors import BadMessage
from joader.memory import Arena
from joader.messages import PROTOCOL, Hello, Welcome
from joader.wire import Stream, frame


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def test_who_says_hello_is_known_by_what_it_says_and_by_the_kernel(ends) -> None:
    ours, theirs = ends
    theirs.sendall(frame(Hello(PROTOCOL, 1, "worker", "ticket", 3)))
    hello, pid = asyncio.run(handshake(ours))
    assert (hello.role, hello.ticket, hello.number) == ("worker", "ticket", 3)
    assert pid == os.getpid()  # whatever it says


def test_another_protocol_is_refused_with_both_numbers(ends) -> None:
    ours, theirs = ends
    theirs.sendall(frame(Hello(PROTOCOL + 1, 1)))
    with pytest.raises(BadMessage, match=f"speaks protocol {PROTOCOL}, the client {PROTOCOL + 1}"):
        asyncio.run(handshake(ours))


def test_who_leaves_or_says_nothing_or_something_else_is_refused(
    ends, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = ends
    monkeypatch.setattr(module, "_HELLO_S", 0.01)
    with pytest.raises(BadMessage, match="no hello came"):
        asyncio.run(handshake(ours))
    theirs.sendall(b"\xff" * 64)
    with pytest.raises(BadMessage, match="too long"):
        asyncio.run(handshake(ours))
    theirs.close()
    with pytest.raises(BadMessage, match="left before it said hello"):
        asyncio.run(handshake(ours))


def test_a_welcome_comes_with_its_descriptors(ends) -> None:
    ours, theirs = ends
    arena = Arena(1 << 16)
    reader, writer = os.pipe()
    welcome(ours, arena, [writer])
    data, descriptors, _, _ = socket.recv_fds(theirs, 4096, 2)
    (message,) = Stream[Welcome](Welcome).feed(data)
    assert (message.protocol, message.arena_bytes) == (PROTOCOL, arena.size_bytes)
    os.write(descriptors[0], b"x")
    assert os.read(reader, 1) == b"x"
    for descriptor in (reader, writer, *descriptors):
        os.close(descriptor)
    arena.close()
