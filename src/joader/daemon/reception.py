"""Lets clients, nurseries and workers in: accept, handshake, welcome, and then a protocol for each.

Owns the number of clients that are here, and the handshakes that are under way: both together never
exceed what the file descriptors of the process allow. Not here: the listening socket (door.py), the
first words (handshake.py), what a client says after them (session.py).
"""

import asyncio
import logging
import os
import socket
from collections.abc import Callable

from joader.daemon.door import Door, turn_away
from joader.daemon.handshake import handshake, welcome
from joader.daemon.session import Session
from joader.errors import BadMessage, JoaderError
from joader.memory import Arena
from joader.messages import Hello
from joader.workers.desk import Desk
from joader.workers.pool import Pool

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
