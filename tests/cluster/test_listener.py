"""Where nodes come in: strangers who say nothing, by real sockets."""

import asyncio
import select
import socket
import time

import pytest

from joader.cluster import listener as room
from joader.cluster.greeting import knock
from joader.cluster.listener import MOST_GREETINGS, Listener, listening
from joader.messages.nodes import Knock, Node

KEY, NODE = b"k" * 32, Node("a", "127.0.0.1", 1)


def test_a_node_comes_in_however_many_strangers_say_nothing() -> None:
    async def play() -> None:
        came: asyncio.Queue[tuple[socket.socket, Knock]] = asyncio.Queue()
        door = Listener(
            listening("127.0.0.1", 0), KEY, lambda sock, said: came.put_nowait((sock, said))
        )
        address = ("127.0.0.1", door.port)
        strangers = [socket.create_connection(address) for _ in range(3 * MOST_GREETINGS)]
        began = time.monotonic()
        link = await asyncio.to_thread(knock, address, KEY, NODE, "bytes")
        theirs, said = await asyncio.wait_for(came.get(), 10)
        assert said.node == NODE
        assert time.monotonic() - began < 2.5  # a silent one is waited for 3 s
        strangers[0].settimeout(10)
        assert strangers[0].recv(1) == b""  # the oldest had to leave
        for sock in (*strangers, link, theirs):
            sock.close()
        door.close()

    asyncio.run(play())


def test_of_the_address_with_most_the_oldest_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "MOST_GREETINGS", 3)

    async def play() -> None:
        door = Listener(listening("127.0.0.1", 0), KEY, lambda *_: None)
        pairs = [socket.socketpair() for _ in range(4)]
        hosts = ["far", "near", "near", "far too"]
        copies = [door._begun(ours, host) for (ours, _), host in zip(pairs, hosts, strict=True)]
        ended = [bool(select.select([theirs], [], [], 0)[0]) for _, theirs in pairs]
        assert ended == [False, True, False, False]
        for sock in (*copies, *(one for pair in pairs for one in pair)):
            sock.close()
        door.close()

    asyncio.run(play())
