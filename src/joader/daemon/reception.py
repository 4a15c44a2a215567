"""Lets clients, nurseries and workers in: accept, handshake, welcome, and then a protocol for each.

The handshake runs on the raw socket, because asyncio's transports cannot send descriptors.

Owns the number of connected clients and the handshakes that are under way: together they never
exceed what the process's file descriptors allow. Not here: the listening socket (door.py), what a
client says after the handshake (session.py).
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


log = logging.getLogger("joader.daemon")

# Seconds after a failed accept: trying again at once would be a busy loop.
_ACCEPT_AGAIN_S = 0.1


class Reception:
    """Accepts connections, and counts those that are open or in their handshake."""

    def __init__(
        self,
        arena: Arena,
        pool: Pool,
        *,
        most_clients: int,
        new_session: Callable[[int, bool], Session],
        stop: asyncio.Event,
    ) -> None:
        """Prepare to accept until `stop`; `new_session` gets a pid, and whether it is a watcher."""
        self._arena = arena
        self._pool = pool
        self._most_clients = most_clients
        self._new_session = new_session
        self._stop = stop
        self.clients = 0  # including those without a job yet
        self.watchers = 0  # watchers: they only ask, and do not keep the daemon alive
        self.idle_since = asyncio.get_running_loop().time()
        self._handshakes: set[asyncio.Task[None]] = set()

    async def receive(self, door: Door) -> None:
        """Accept connections until `stop`."""
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
                log.warning("cannot accept clients now: %s", error)
                await asyncio.sleep(_ACCEPT_AGAIN_S)
                continue
            if self.clients + self.watchers + len(self._handshakes) >= self._most_clients:
                turn_away(
                    sock, f"the daemon has {self._most_clients} clients; it can serve no more"
                )
                continue
            # A separate task: a client that connects and stays silent must not keep others out.
            task = asyncio.ensure_future(self._let_in(sock))
            self._handshakes.add(task)
            task.add_done_callback(self._handshakes.discard)

    def client_left(self, watches: bool) -> None:
        """Note that the session of a client or a watcher has ended."""
        if watches:
            self.watchers -= 1
            return
        self.clients -= 1
        self.idle_since = asyncio.get_running_loop().time()

    async def _let_in(self, sock: socket.socket) -> None:
        """Do the handshake, send the descriptors it may map, and set its protocol."""
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
            if self._stop.is_set():  # the arena may be closed; the client will find the next daemon
                sock.close()
            else:
                turn_away(sock, str(error))

    async def _let_worker_in(self, sock: socket.socket, hello: Hello, pid: int) -> None:
        # A worker may write to the arena, so it must be one that a nursery was asked for.
        if not self._pool.expects(hello.ticket, hello.number):
            raise BadMessage("this worker was not asked for, or its job is gone")
        desk = Desk()
        try:
            hand = self._pool.arrive(hello.ticket, hello.number, pid, desk)
            self._hand_over(sock, self._arena.writable_descriptor(), os.dup(desk.descriptor))
        except BaseException:
            desk.close()  # it belongs to the handle only once the worker is connected
            raise
        await asyncio.get_running_loop().connect_accepted_socket(lambda: hand, sock)

    def _hand_over(self, sock: socket.socket, *descriptors: int) -> None:
        """Send the Welcome with descriptors, and close our copies even if the client is gone."""
        try:
            welcome(sock, self._arena, list(descriptors))
        finally:
            for descriptor in descriptors:
                os.close(descriptor)


async def handshake(sock: socket.socket) -> tuple[Hello, int]:
    """Check a client; return its Hello, and its pid according to the kernel."""
    sock.setblocking(False)
    # From the kernel, because a session watches this process, and clients must not name another.
    credentials = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    pid, uid, _ = struct.unpack("3i", credentials)
    if uid != os.getuid():
        raise BadMessage(f"user {uid} may not use the daemon of user {os.getuid()}")
    try:
        hello = await _hello(sock)
    except TimeoutError as error:
        raise BadMessage(f"no hello came within {_HELLO_S:.0f} s") from error
    if hello.protocol != PROTOCOL:
        # `joader down` and `status` of other versions read this (cli/other_daemon.py).
        raise BadMessage(
            f"this daemon (joader {__version__}, process {os.getpid()}) speaks protocol "
            f"{PROTOCOL}, the client {hello.protocol}; end it with `joader down` and start again"
        )
    return hello, int(pid)


def welcome(sock: socket.socket, arena: Arena, descriptors: list[int]) -> None:
    """Send the Welcome with copies of descriptors; the caller closes its own."""
    message = frame(Welcome(PROTOCOL, __version__, os.getpid(), arena.size_bytes))
    if descriptors:
        socket.send_fds(sock, [message], descriptors)
    else:
        sock.send(message)


async def _hello(sock: socket.socket) -> Hello:
    """Return a client's Hello; raise TimeoutError if none comes in time.

    After the timeout it reads once more: the hello may have come while the daemon was stopped.
    """
    loop = asyncio.get_running_loop()
    stream: Stream[Hello] = Stream(Hello, _HELLO_BYTES)
    end = loop.time() + _HELLO_S
    while True:
        with suppress(TimeoutError):
            async with asyncio.timeout_at(end):
                await _readable(sock)
        try:
            # Clients wait for the Welcome before they send more; anything sent along would be lost.
            data = sock.recv(4096)
        except BlockingIOError:
            if loop.time() < end:
                continue
            raise TimeoutError from None
        if not data:
            raise BadMessage("the client left before it sent a hello")
        for hello in stream.feed(data):
            return hello


async def _readable(sock: socket.socket) -> None:
    """Wait until there is something to read, without reading it."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(sock, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(sock)
