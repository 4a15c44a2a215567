"""The first words with a client, on the raw socket: asyncio's transports send no descriptors."""

import asyncio
import os
import socket
import struct
from contextlib import suppress

from joader.errors import BadMessage
from joader.memory import Arena
from joader.messages import PROTOCOL, Hello, Welcome
from joader.version import __version__
from joader.wire import Stream, frame

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
