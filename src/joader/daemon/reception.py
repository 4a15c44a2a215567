"""Lets clients, nurseries and workers in: accept, handshake, welcome, and then a protocol for each.

Owns the number of clients that are here, and the handshakes that are under way: both together never
exceed what the file descriptors of the process allow. Not here: the listening socket (door.py), the
first words (handshake.py), what a client says after them (session.py).

The first words with a client, on the raw socket: asyncio's transports send no descriptors.
"""

import asyncio
import logging
import os
import socket
import struct
from collections.abc import Callable
from contextlib import suppress

from joader.daemon.door import Door, turn_away
from joader.daemon.session import Session
from joader.errors import BadMessage, JoaderError
from joader.memory import Arena
from joader.messages import PROTOCOL, Hello, Welcome
from joader.version import __version__
from joader.wire import Stream, frame
from joader.workers.desk import Desk
from joader.workers.pool import Pool

_HELLO_S = 5.0
_HELLO_BYTES = 1024


async def handshake(sock: socket.socket) -> tuple[Hello, int]:
    """Check who is there; return what it says about itself, and its process id by the kernel."""
    sock.setblocking(False)
    # From the kernel: a session watches this process, and nobody is to name another one.
    credentials = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    pid, uid, _ = struct.unpack("3i", credentials)
    if uid != os.getuid():
        raise BadMessage(f"user {uid} may not use the daemon of user {os.getuid()}")
    try:
        hello = await _hello(sock)
    except TimeoutError as error:
        raise BadMessage(f"no hello came in {_HELLO_S:.0f} s") from error
    if hello.protocol != PROTOCOL:
        # `joader down` and `status` of other versions read this (cli/other_daemon.py).
        raise BadMessage(
            f"this daemon (joader {__version__}, process {os.getpid()}) speaks protocol "
            f"{PROTOCOL}, the client {hello.protocol}; end it with `joader down` and start again"
        )
    return hello, int(pid)


def welcome(sock: socket.socket, arena: Arena, descriptors: list[int]) -> None:
    """Let somebody in with copies of descriptors; the caller closes its own."""
    message = frame(Welcome(PROTOCOL, __version__, os.getpid(), arena.size_bytes))
    if descriptors:
        socket.send_fds(sock, [message], descriptors)
    else:
        sock.send(message)


async def _hello(sock: socket.socket) -> Hello:
    """Return what a client says first; TimeoutError if there is nothing when its time is up.

    Then the socket is read once more: the hello may have come while the daemon was stopped.
    """
    loop = asyncio.get_running_loop()
    stream: Stream[Hello] = Stream(Hello, _HELLO_BYTES)
    end = loop.time() + _HELLO_S
    while True:
        with suppress(TimeoutError):
            async with asyncio.timeout_at(end):
                await _readable(sock)
        try:
            # Ours wait for the welcome before they say more; what came along would be lost.
            data = sock.recv(4096)
        except BlockingIOError:
            if loop.time() < end:
                continue
            raise TimeoutError from None
        if not data:
            raise BadMessage("the client left before it said hello")
        for hello in stream.feed(data):
            return hello


async def _readable(sock: socket.socket) -> None:
    """Wait until there is something to read, and do not read it."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(sock, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(sock)


log = logging.getLogger("joader.daemon")

# After an accept that failed: trying again at once would be a busy loop.
_ACCEPT_AGAIN_S = 0.1


class Reception:
    """Everybody's way in."""

    def __init__(
        self,
        arena: Arena,
        pool: Pool,
        *,
        most_clients: int,
        new_session: Callable[[int, bool], Session],
        stop: asyncio.Event,
    ) -> None:
        """Let in until `stop`; `new_session` is told the process, and whether it only asks."""
        self._arena = arena
        self._pool = pool
        self._most_clients = most_clients
        self._new_session = new_session
        self._stop = stop
        self.clients = 0  # also those without a job yet
        self.watchers = 0  # they only ask; the daemon does not stay for them
        self.idle_since = asyncio.get_running_loop().time()
        self._handshakes: set[asyncio.Task[None]] = set()

    async def receive(self, door: Door) -> None:
        """Accept whoever knocks, until `stop`."""
        loop = asyncio.get_running_loop()
        stopping = asyncio.ensure_future(self._stop.wait())
        while not self._stop.is_set():
            accepting = asyncio.ensure_future(loop.sock_accept(door.listener))
            await asyncio.wait({accepting, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if not accepting.done():
                accepting.cancel()
                break
            try:
                sock, _ = accepting.result()
            except OSError as error:  # no descriptors; the client waits in the queue
                log.warning("nobody can be let in now: %s", error)
                await asyncio.sleep(_ACCEPT_AGAIN_S)
                continue
            if self.clients + self.watchers + len(self._handshakes) >= self._most_clients:
                turn_away(
                    sock, f"the daemon has {self._most_clients} clients; it can serve no more"
                )
                continue
            # A task of its own: who connects and says nothing must not keep others out.
            task = asyncio.ensure_future(self._let_in(sock))
            self._handshakes.add(task)
            task.add_done_callback(self._handshakes.discard)

    def client_left(self, watches: bool) -> None:
        """Note that the session of a client, or of a watcher, has ended."""
        if watches:
            self.watchers -= 1
            return
        self.clients -= 1
        self.idle_since = asyncio.get_running_loop().time()

    async def _let_in(self, sock: socket.socket) -> None:
        """Check who is there, hand over what it may map, and give it its protocol."""
        loop = asyncio.get_running_loop()
        try:
            hello, pid = await handshake(sock)
            if hello.role == "client":
                self._hand_over(sock, self._arena.read_only_descriptor())
                self.clients += 1
                await loop.connect_accepted_socket(lambda: self._new_session(pid, False), sock)
            elif hello.role == "watcher":
                welcome(sock, self._arena, [])
                self.watchers += 1
                await loop.connect_accepted_socket(lambda: self._new_session(pid, True), sock)
            elif hello.role == "nursery":
                link = self._pool.attend(hello.ticket, pid)
                welcome(sock, self._arena, [])
                await loop.connect_accepted_socket(lambda: link, sock)
            else:
                await self._let_worker_in(sock, hello, pid)
        except (JoaderError, OSError) as error:
            if self._stop.is_set():  # the arena may be closed; the client will ask the next daemon
                sock.close()
            else:
                turn_away(sock, str(error))

    async def _let_worker_in(self, sock: socket.socket, hello: Hello, pid: int) -> None:
        # A worker may write to the arena, so only one that a nursery was asked for gets in.
        if not self._pool.expects(hello.ticket, hello.number):
            raise BadMessage("nobody has asked for this worker, or its job is gone")
        desk = Desk()
        try:
            hand = self._pool.arrive(hello.ticket, hello.number, pid, desk)
            self._hand_over(sock, self._arena.writable_descriptor(), os.dup(desk.descriptor))
        except BaseException:
            desk.close()  # it becomes the hand's only once the worker is connected
            raise
        await asyncio.get_running_loop().connect_accepted_socket(lambda: hand, sock)

    def _hand_over(self, sock: socket.socket, *descriptors: int) -> None:
        """Welcome somebody with descriptors; our copies are closed, also if it is gone already."""
        try:
            welcome(sock, self._arena, list(descriptors))
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
