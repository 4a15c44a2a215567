"""Who knocks is let in with what it may map, or told why not; nobody keeps others out.

The first words with a client.
"""

import asyncio
import fcntl
import os
import socket
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from joader.daemon import reception as module
from joader.daemon.door import Door
from joader.daemon.reception import Reception, handshake, welcome
from joader.daemon.session import Session
from joader.errors import BadMessage
from joader.memory import Arena
from joader.messages import PROTOCOL, Hello, Refuse, Welcome
from joader.wire import Allowance, Stream, frame

PATIENCE_S = 30.0


class NoWorkers:
    """A pool that expects nobody."""

    def expects(self, ticket: str, number: int) -> bool:
        return False

    def attend(self, ticket: str, pid: int) -> Any:
        raise BadMessage("that nursery's job is not here")


class House:
    """A door, and a reception behind it."""

    def __init__(self, path: Path, most_clients: int) -> None:
        self.path = path
        self.arena = Arena(1 << 16)
        self.stop = asyncio.Event()
        self.sessions: list[Session] = []
        pool: Any = NoWorkers()
        self.reception = Reception(
            self.arena,
            pool,
            most_clients=most_clients,
            new_session=self.new_session,
            stop=self.stop,
        )

    def new_session(self, pid: int, watches: bool) -> Session:
        self.sessions.append(
            Session(
                pid,
                lambda *_: None,
                lambda session: self.reception.client_left(session.watches),
                Allowance(1 << 20),
                watches,
            )
        )
        return self.sessions[-1]

    def knock(self) -> socket.socket:
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(os.fspath(self.path))
        sock.settimeout(PATIENCE_S)
        return sock

    async def enter(
        self, role: str = "client", protocol: int = PROTOCOL
    ) -> tuple[socket.socket, Welcome | Refuse, list[int]]:
        """Knock and say hello; return the answer, and the descriptors that came with it."""
        sock = self.knock()
        sock.sendall(frame(Hello(protocol, os.getpid(), role)))
        data, descriptors, _, _ = await asyncio.to_thread(socket.recv_fds, sock, 4096, 4)
        stream: Stream[Welcome | Refuse] = Stream(Welcome | Refuse)
        return sock, next(iter(stream.feed(data))), list(descriptors)


def at_a_door(
    tmp_path: Path, visit: Callable[[House], Awaitable[None]], most_clients: int = 8
) -> None:
    async def main() -> None:
        door = Door(tmp_path / "daemon.sock")
        house = House(door.path, most_clients)
        receiving = asyncio.ensure_future(house.reception.receive(door))
        try:
            await visit(house)
        finally:
            house.stop.set()
            await asyncio.wait_for(receiving, PATIENCE_S)
            for session in house.sessions:
                session.end()
            door.close()
            house.arena.close()

    asyncio.run(main())


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.001)


def test_a_client_is_welcomed_with_memory_that_it_can_only_read(tmp_path: Path) -> None:
    async def visit(house: House) -> None:
        before = os.listdir("/proc/self/fd")
        sock, answer, descriptors = await house.enter()
        assert isinstance(answer, Welcome)
        assert answer.arena_bytes == house.arena.size_bytes
        (descriptor,) = descriptors
        assert fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY
        os.close(descriptor)
        assert house.reception.clients == 1
        sock.close()
        await until(lambda: house.reception.clients == 0)
        # Nor does the daemon keep a copy of what it has handed over.
        await until(lambda: len(os.listdir("/proc/self/fd")) == len(before))

    at_a_door(tmp_path, visit)


def test_who_comes_when_there_are_too_many_is_told_so(tmp_path: Path) -> None:
    async def visit(house: House) -> None:
        first, _, descriptors = await house.enter()
        os.close(descriptors[0])
        second, answer, descriptors = await house.enter()
        assert isinstance(answer, Refuse)
        assert "1 clients" in answer.reason
        assert descriptors == []
        first.close()
        second.close()

    at_a_door(tmp_path, visit, most_clients=1)


def test_who_says_nothing_takes_a_place_but_keeps_nobody_out(tmp_path: Path) -> None:
    async def visit(house: House) -> None:
        silent = house.knock()
        sock, answer, descriptors = await house.enter()
        assert isinstance(answer, Welcome)
        os.close(descriptors[0])
        third, refused, _ = await house.enter()
        assert isinstance(refused, Refuse)  # two are here: one client, and who says nothing
        for one in (silent, sock, third):
            one.close()

    at_a_door(tmp_path, visit, most_clients=2)


@pytest.mark.parametrize(
    ("role", "protocol", "reason"),
    [
        ("worker", PROTOCOL, "this worker was not asked for"),
        ("nursery", PROTOCOL, "that nursery's job is not here"),
        ("client", PROTOCOL + 1, f"speaks protocol {PROTOCOL}, the client {PROTOCOL + 1}"),
    ],
)
def test_who_may_not_come_in_is_told_why_and_gets_nothing(
    tmp_path: Path, role: str, protocol: int, reason: str
) -> None:
    async def visit(house: House) -> None:
        before = os.listdir("/proc/self/fd")
        sock, answer, descriptors = await house.enter(role, protocol)
        assert isinstance(answer, Refuse)
        assert reason in answer.reason
        assert descriptors == []
        assert house.reception.clients == 0
        sock.close()
        await until(lambda: len(os.listdir("/proc/self/fd")) == len(before))

    at_a_door(tmp_path, visit)


def test_who_is_still_saying_hello_when_the_daemon_stops_just_sees_the_end(tmp_path: Path) -> None:
    async def visit(house: House) -> None:
        sock = house.knock()
        await until(lambda: len(house.reception._handshakes) == 1)
        house.stop.set()
        sock.sendall(frame(Hello(PROTOCOL + 1, os.getpid())))
        assert await asyncio.to_thread(sock.recv, 4096) == b""
        sock.close()

    at_a_door(tmp_path, visit)


def test_a_watcher_gets_no_memory_and_does_not_count_as_a_client(tmp_path: Path) -> None:
    async def visit(house: House) -> None:
        sock, answer, descriptors = await house.enter("watcher")
        assert isinstance(answer, Welcome)
        assert descriptors == []
        await until(lambda: house.reception.watchers == 1)
        idle_since = house.reception.idle_since
        assert house.reception.clients == 0
        sock.close()
        await until(lambda: house.reception.watchers == 0)
        assert house.reception.idle_since == idle_since

    at_a_door(tmp_path, visit)


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
    with pytest.raises(BadMessage, match="left before it sent a hello"):
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
