"""The dashboard's process: listens on loopback, and ends when nobody looks any more.

It is no part of the daemon and none of its children: it outlives a daemon that is restarted. It
ends by itself after IDLE_S without an open page; one that `joader up` started stays as long as
the daemon does, or a page is open.
"""

import argparse
import asyncio
import os
import socket
import sys
from pathlib import Path

import uvicorn

from joader.daemon.lifecycle import connected
from joader.dashboard import place
from joader.dashboard.app import app
from joader.dashboard.feed import Feed
from joader.dashboard.visitor import Visitor
from joader.errors import JoaderError

IDLE_S = 600.0
_LOOK_S = 5.0


def main() -> None:
    """Serve until nobody looks."""
    parser = argparse.ArgumentParser(prog="joader.dashboard")
    parser.add_argument("--socket", type=Path, required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--stay", action="store_true", help="as long as the daemon does")
    parser.add_argument("--idle", type=float, default=IDLE_S)
    options = parser.parse_args()
    held = place.lock()
    if held is None:
        return  # another was quicker
    try:
        listener = _listening(options.port)
    except OSError as error:
        sys.exit(f"joader: no dashboard can listen at port {options.port}: {error}")
    try:
        asyncio.run(_serve(options, listener))
    except JoaderError as error:
        sys.exit(f"joader: {error}")
    finally:
        place.withdraw()
        listener.close()


def _listening(port: int) -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))  # never another interface
    except OSError:
        listener.close()
        raise
    listener.listen()
    return listener


async def _serve(options: argparse.Namespace, listener: socket.socket) -> None:
    token = place.token()
    feed = Feed(options.socket)
    config = uvicorn.Config(
        app(feed, token),
        log_level="warning",
        access_log=False,  # it would write tokens down
        http=Visitor,
        timeout_graceful_shutdown=1,
        server_header=False,
        lifespan="off",
    )
    server = uvicorn.Server(config)
    place.announce(place.Address(os.getpid(), listener.getsockname()[1], token))
    watching = asyncio.ensure_future(_end_when_idle(server, feed, options))
    try:
        await server.serve(sockets=[listener])
    finally:
        watching.cancel()


async def _end_when_idle(server: uvicorn.Server, feed: Feed, options: argparse.Namespace) -> None:
    loop = asyncio.get_running_loop()
    since = loop.time()
    while not server.should_exit:
        await asyncio.sleep(min(_LOOK_S, options.idle / 4))
        if feed.pages:
            since = loop.time()
        elif options.stay:
            server.should_exit = not _listens(options.socket)
        elif loop.time() - since >= options.idle:
            server.should_exit = True


def _listens(path: Path) -> bool:
    try:
        sock = connected(path)
    except (OSError, JoaderError):
        return True  # it is there, and busy
    if sock is None:
        return False
    sock.close()
    return True


if __name__ == "__main__":
    main()
