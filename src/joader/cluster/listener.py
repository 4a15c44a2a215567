"""Accepts other nodes: a listening socket, a thread that accepts, and a thread per greeting.

A greeting blocks for seconds if the other side is silent, so none runs in the daemon's loop. After
its greeting, a node is passed to the loop as a blocking socket.

At most MOST_GREETINGS are under way. A silent stranger occupies one for seconds, and may connect
many times. So to make room for the next one, the oldest of the address with the most is ended.
Nodes greet in milliseconds, so theirs is never the oldest for long.
"""

import asyncio
import logging
import socket
import ssl
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

from joader.cluster.greeting import GREETING_S, let_in
from joader.cluster.tls import tls_asked_for
from joader.errors import JoaderError
from joader.messages.nodes import Knock

log = logging.getLogger("joader.cluster")

MOST_GREETINGS = 64


class Listener:
    """A listening socket for nodes, with its threads, until `close`."""

    def __init__(
        self,
        sock: socket.socket,
        key: bytes,
        on_guest: Callable[[socket.socket, Knock], None],
    ) -> None:
        """Accept on `sock`; `on_guest` gets nodes after their greeting, in the running loop."""
        self._socket, self._key, self._on_guest = sock, key, on_guest
        self._loop = asyncio.get_running_loop()
        self._greeting: dict[socket.socket, str] = {}  # oldest first, with the peer's address
        self._changing = threading.Lock()
        self._closed = False
        threading.Thread(target=self._accept, name="joader-listener", daemon=True).start()

    @property
    def port(self) -> int:
        """The port that it listens at."""
        return int(self._socket.getsockname()[1])

    def close(self) -> None:
        """Stop accepting, and end greetings under way."""
        self._closed = True
        try:
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        finally:
            self._socket.close()

    def _accept(self) -> None:
        while not self._closed:
            try:
                sock, address = self._socket.accept()
            except OSError:
                if self._closed:
                    return
                threading.Event().wait(0.1)  # no descriptors; retrying at once would be a busy loop
                continue
            # A duplicate to end it by, because TLS detaches the socket itself.
            copy = self._begun(sock, str(address[0]))
            threading.Thread(target=self._greet, args=(sock, copy), daemon=True).start()

    def _begun(self, sock: socket.socket, host: str) -> socket.socket:
        """Note a greeting that begins; end another one if there are too many."""
        copy = sock.dup()
        with self._changing:
            if len(self._greeting) >= MOST_GREETINGS:
                most = Counter(self._greeting.values()).most_common(1)[0][0]
                oldest = next(one for one, its in self._greeting.items() if its == most)
                del self._greeting[oldest]
                with suppress(OSError):
                    oldest.shutdown(socket.SHUT_RDWR)  # wakes its thread, which then closes it
            self._greeting[copy] = host
        return copy

    def _greet(self, sock: socket.socket, copy: socket.socket) -> None:
        try:
            tls = tls_asked_for()
            if tls is not None:
                sock.settimeout(GREETING_S)
                sock = tls.asked(sock)
            knock, link = let_in(sock, self._key, tls.digest if tls else b"")
            self._loop.call_soon_threadsafe(self._on_guest, link, knock)
        except JoaderError as error:
            log.warning("refused a connection: %s", error)
            sock.close()
        except ssl.SSLError as error:
            log.warning("refused a connection: no TLS (%s); is it set on all nodes?", error)
            sock.close()
        except (OSError, RuntimeError):  # closed, or the loop has ended
            sock.close()
        finally:
            with self._changing:
                self._greeting.pop(copy, None)
            copy.close()


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address; raise OSError if it cannot."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
        sock.listen(128)
    except BaseException:
        sock.close()
        raise
    return sock
