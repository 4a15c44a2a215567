"""TLS on the connections between nodes, if JOADER_CLUSTER_TLS asks for it.

The greeting (greeting.py) runs inside TLS. No authority signs certificates: each node makes one
when it starts, or has one in a file, and both proofs of the cluster's key cover the certificate of
the accepting node. A man in the middle has to show another certificate, and cannot prove the key
for it.

After the greeting, all reads and writes go to a plain socket: a *tunnel*, one end of a socket pair.
A thread moves bytes between its other end and TLS, because two threads must not use one TLS
connection at the same time. It ends when either side closes.
"""

import os
import select
import socket
import ssl
import subprocess
import tempfile
import threading
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path

from joader.errors import BadArgument

_VARIABLE = "JOADER_CLUSTER_TLS"
_MADE_HERE = "1"
# Bytes moved at a time: 16 TLS records.
_BUFFER_BYTES = 1 << 18
# How long sending the last bytes may take after the near end has closed.
_FLUSH_S = 3.0
_MAKE = (
    *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
    *("-nodes", "-days", "3650", "-subj", "/CN=joader", "-keyout", "-", "-out", "-"),
)
_BEGIN, _END = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"


class Tls:
    """A node's certificate, and its TLS contexts for both directions."""

    def __init__(self, pem: str, where: str) -> None:
        """Use a certificate and its private key; raise BadArgument with `where` if invalid."""
        self._asked = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._asks = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._asks.check_hostname = False
        self._asks.verify_mode = ssl.CERT_NONE  # the key vouches for it, not an authority
        for context in (self._asked, self._asks):
            context.minimum_version = ssl.TLSVersion.TLSv1_3
        start, end = pem.find(_BEGIN), pem.find(_END)
        if start < 0 or end < start:
            raise BadArgument(f"{where} has no certificate; it must hold one and its private key")
        self.digest = _digest(ssl.PEM_cert_to_DER_cert(pem[start : end + len(_END)]))
        # The module only loads files, so a private one is written and removed at once.
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "node.pem")
            path.touch(0o600)
            path.write_text(pem)
            try:
                self._asked.load_cert_chain(path)
            except (ssl.SSLError, OSError) as error:
                raise BadArgument(
                    f"{where} is not a certificate with its private key in one PEM file: {error}"
                ) from error

    def asked(self, sock: socket.socket) -> ssl.SSLSocket:
        """Start TLS as the accepting side; the socket's timeout is for the whole handshake."""
        return self._asked.wrap_socket(sock, server_side=True)

    def asks(self, sock: socket.socket) -> ssl.SSLSocket:
        """Start TLS as the connecting side."""
        return self._asks.wrap_socket(sock)


def tls_asked_for() -> Tls | None:
    """Return this node's TLS if JOADER_CLUSTER_TLS asks for it; BadArgument if that fails."""
    setting = os.environ.get(_VARIABLE, "")
    return None if setting in ("", "0") else _tls(setting)


@cache
def _tls(setting: str) -> Tls:
    if setting == _MADE_HERE:
        return Tls(_made(), "the certificate that openssl has made")
    try:
        return Tls(Path(setting).read_text(), setting)
    except OSError as error:
        raise BadArgument(
            f"{_VARIABLE}={setting} cannot be read ({error.strerror}); give 1, or the path of a "
            "PEM file with a certificate and its private key"
        ) from error


def _made() -> str:
    try:
        done = subprocess.run(_MAKE, capture_output=True, text=True, check=False, timeout=30)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BadArgument(
            f"{_VARIABLE}=1 makes a certificate with openssl, which cannot be run ({error}); "
            f"install it, or give a PEM file: {_VARIABLE}=/path/node.pem"
        ) from error
    if done.returncode:
        raise BadArgument(f"openssl makes no certificate: {done.stderr.strip()[-300:]}")
    return done.stdout


def shown_by(sock: ssl.SSLSocket) -> bytes:
    """Return the digest of the certificate that the other side has shown."""
    return _digest(sock.getpeercert(binary_form=True) or b"")


def _digest(certificate: bytes) -> bytes:
    return sha256(certificate).digest()


class Tunnel(socket.socket):
    """The near end of a connection in TLS: a socket like any other to its user."""

    wire: ssl.SSLSocket  # the TCP socket underneath; must not be read or written


def tunnel(wire: ssl.SSLSocket) -> Tunnel:
    """Return a plain socket for a connection in TLS, and take over that connection."""
    near, far = socket.socketpair()
    found = Tunnel(near.family, near.type, near.proto, near.detach())
    found.wire = wire
    threading.Thread(target=_carry, args=(wire, far), name="joader-tls", daemon=True).start()
    return found


def wire_of(sock: socket.socket) -> socket.socket:
    """Return the TCP socket of a connection."""
    return sock.wire if isinstance(sock, Tunnel) else sock


def _carry(wire: ssl.SSLSocket, far: socket.socket) -> None:
    """Move bytes both ways until one side ends."""
    with suppress(OSError), wire, far:
        wire.setblocking(False)
        far.setblocking(False)
        _Carrier(wire, far).run()


def _watch(poll: select.poll, sock: socket.socket, events: int | None) -> None:
    if events is not None:
        poll.register(sock, events)
        return
    with suppress(KeyError):
        poll.unregister(sock)


class _Carrier:
    """Moves bytes between two nonblocking sockets."""

    def __init__(self, wire: ssl.SSLSocket, far: socket.socket) -> None:
        self._wire, self._far = wire, far
        self._rooms = bytearray(_BUFFER_BYTES), bytearray(_BUFFER_BYTES)
        self._out = self._in = memoryview(b"")  # read, but not written yet
        self._out_wants = select.POLLOUT
        self._closed = False  # the near end is closed, and all its bytes are sent

    def run(self) -> None:
        poll = select.poll()
        hung_up = False
        while not self._closed:
            if self._step():
                continue
            # poll reports a closed end each time, regardless of the requested events.
            _watch(poll, self._wire, self._wire_events())
            _watch(poll, self._far, None if hung_up else self._far_events())
            events = poll.poll(_FLUSH_S * 1000 if hung_up else None)
            if hung_up and not events:
                return  # the other side does not take the last bytes
            hung_up |= any(fd == self._far.fileno() and e & select.POLLHUP for fd, e in events)

    def _wire_events(self) -> int | None:
        wanted = (0 if self._in else select.POLLIN) | (self._out_wants if self._out else 0)
        return wanted or None

    def _far_events(self) -> int:
        return (0 if self._out else select.POLLIN) | (select.POLLOUT if self._in else 0)

    def _step(self) -> bool:
        """Move what can be moved now; return whether anything was."""
        moved = self._from_near() if not self._out else False
        moved |= self._to_wire() if self._out else False
        if not self._closed:
            moved |= self._from_wire() if not self._in else False
            moved |= self._to_near() if self._in else False
        return moved

    def _from_near(self) -> bool:
        try:
            count = self._far.recv_into(self._rooms[0])
        except BlockingIOError:
            return False
        self._closed = not count
        self._out = memoryview(self._rooms[0])[:count]
        return True

    def _to_wire(self) -> bool:
        try:
            count = self._wire.send(self._out)
        except ssl.SSLWantReadError:
            self._out_wants = select.POLLIN
            return False
        except ssl.SSLWantWriteError:
            self._out_wants = select.POLLOUT
            return False
        self._out = self._out[count:]
        return True

    def _from_wire(self) -> bool:
        try:
            count = self._wire.recv_into(self._rooms[1])
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return False
        self._closed |= not count
        self._in = memoryview(self._rooms[1])[:count]
        return True

    def _to_near(self) -> bool:
        try:
            count = self._far.send(self._in)
        except BlockingIOError:
            return False
        self._in = self._in[count:]
        return True
