"""The handshake of two nodes, on a blocking socket: versions, then proofs of the key, both ways.

The connecting node proves first that it has the key, because strangers can reach the port, and a
short key can be guessed from a proof. Only then does the accepting node prove it, too. Each proof
covers all messages so far and, with TLS (tls.py), the certificate that was shown. Without TLS, the
connection is neither encrypted nor signed after that (docs/cluster.md says what that means).
"""

import secrets
import socket
import ssl
import sys
import time
from collections.abc import Callable
from hmac import compare_digest
from typing import Any, TypeVar

import msgspec

from joader.cluster.key import proof
from joader.cluster.tls import shown_by, tls_asked_for, tunnel
from joader.errors import BadMessage, ConnectionLost, NoDaemon, Refusal
from joader.messages import Refuse
from joader.messages.nodes import Challenge, Granted, Knock, Node, Proof
from joader.version import __version__
from joader.wire import Stream, frame

T = TypeVar("T")

CLUSTER_PROTOCOL = 5
# How long each message may take; a wrong address or key is reported within 10 s.
GREETING_S = 3.0
_MOST_BYTES = 1 << 16
PYTHON = ".".join(map(str, sys.version_info[:2]))


def knock(
    address: tuple[str, int], key: bytes, node: Node, purpose: str, source: str = ""
) -> socket.socket:
    """Return a socket to another node after the handshake; raise JoaderError if it fails."""
    where = f"{address[0]}:{address[1]}"
    tls = tls_asked_for()
    try:
        sock = socket.create_connection(
            address, GREETING_S, source_address=(source, 0) if source else None
        )
    except OSError as error:
        raise NoDaemon(f"cannot reach a node at {where}: {error}") from error
    try:
        shown = b""
        if tls is not None:
            sock = _in_tls(tls.asks, sock, where)
            shown = shown_by(sock)
        _come_in(sock, key, node, purpose, where=where, shown=shown)
        return ready(sock)
    except TimeoutError as error:
        sock.close()
        raise NoDaemon(
            f"{where} accepts connections but did not answer within {GREETING_S:.0f} s (is it a "
            "joader daemon?)"
        ) from error
    except BaseException:
        sock.close()
        raise


def _in_tls(
    begin: Callable[[socket.socket], ssl.SSLSocket], sock: socket.socket, where: str
) -> ssl.SSLSocket:
    try:
        return begin(sock)
    except TimeoutError:
        raise
    except OSError as error:
        raise NoDaemon(
            f"{where} does not speak TLS ({error}); set JOADER_CLUSTER_TLS on all nodes or on none"
        ) from error


def ready(sock: socket.socket) -> socket.socket:
    """Return a socket for what follows the greeting on this one."""
    sock.settimeout(None)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return tunnel(sock) if isinstance(sock, ssl.SSLSocket) else sock


def _come_in(
    sock: socket.socket, key: bytes, node: Node, purpose: str, *, where: str, shown: bytes
) -> None:
    nonce = secrets.token_bytes(32)
    said = Knock(__version__, PYTHON, CLUSTER_PROTOCOL, purpose, node, nonce)
    sock.sendall(frame(said))
    try:
        challenge = _expect(sock, Challenge)
    except (BadMessage, ConnectionLost, ConnectionError) as error:
        hint = "" if shown else "; or it speaks TLS, and JOADER_CLUSTER_TLS is not set here"
        raise NoDaemon(f"{where} does not speak joader's protocol: {error}{hint}") from error
    words = msgspec.msgpack.encode(said)
    sock.sendall(frame(Proof(proof(key, b"asks", words, challenge.nonce, shown))))
    granted = _expect(sock, Granted)
    if not compare_digest(granted.proof, proof(key, b"asked", words, challenge.nonce, shown)):
        raise Refusal(f"the node at {where} does not have the cluster's key")


def let_in(sock: socket.socket, key: bytes, shown: bytes = b"") -> tuple[Knock, socket.socket]:
    """Accept a node if it has the key and our versions; otherwise refuse it and raise.

    Return its first message, and a socket for what follows. `shown` is the digest of the
    certificate that we have shown.
    """
    said = _expect(sock, Knock)
    try:
        _check_versions(said)
        nonce = secrets.token_bytes(32)
        words = msgspec.msgpack.encode(said)
        sock.sendall(frame(Challenge(nonce)))
        if not compare_digest(_expect(sock, Proof).proof, proof(key, b"asks", words, nonce, shown)):
            raise Refusal(
                f"node {said.node.name} has another cluster key than the node it connects to; "
                "all nodes need the same JOADER_CLUSTER_KEY, or the same key file"
                + ("; or there is a man in the middle, with another certificate" if shown else "")
            )
    except Refusal as error:
        sock.sendall(frame(Refuse(str(error))))
        raise
    sock.sendall(frame(Granted(proof(key, b"asked", words, nonce, shown))))
    return said, ready(sock)


def _check_versions(said: Knock) -> None:
    theirs = (said.joader, said.python, said.protocol)
    ours = (__version__, PYTHON, CLUSTER_PROTOCOL)
    if theirs != ours:
        raise Refusal(
            f"node {said.node.name} runs joader {said.joader} on Python {said.python}, and the "
            f"node it connects to joader {__version__} on Python {PYTHON}: samples may differ, "
            "so nodes of one cluster need the same versions"
        )


def _expect(sock: socket.socket, kind: type[T]) -> T:
    """Receive exactly one message: bytes after the greeting are for another reader."""
    stream: Stream[Any] = Stream(kind | Refuse, _MOST_BYTES)
    until = time.monotonic() + GREETING_S
    length = _exactly(sock, 4, until)
    stream.put(length)
    if stream.take() is not None:  # raises BadMessage before it waits for an oversized message
        raise BadMessage("an empty message")
    stream.put(_exactly(sock, int.from_bytes(length, "big"), until))
    message = stream.take()
    if isinstance(message, Refuse):
        raise Refusal(message.reason)
    if not isinstance(message, kind):
        raise BadMessage(f"{type(message).__name__} where {kind.__name__} was expected")
    return message


def _exactly(sock: socket.socket, size: int, until: float) -> bytes:
    data = b""
    while len(data) < size:
        sock.settimeout(max(0.01, until - time.monotonic()))
        part = sock.recv(size - len(data))
        if not part:
            raise ConnectionLost("it closed the connection")
        data += part
    return data
