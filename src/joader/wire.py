"""Messages as bytes: msgpack after a length of four bytes, in both directions.

A reader feeds what it received to a `Stream` and gets whole messages back. No pickle: the worst
that can happen to a peer's message is that it is refused. A message takes memory as its bytes
arrive, not as its length announces, and an `Allowance` limits what all streams of a process hold.
"""

import os
import select
import socket
import struct
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from joader.errors import BadArgument, BadMessage, ConnectionLost, NoDaemon, Refusal
from joader.messages import Hello, Refuse, Welcome, as_bytes, from_bytes

if TYPE_CHECKING:
    from asyncio import Transport

T = TypeVar("T")
_LENGTH_BYTES = 4
_WELCOME_BYTES = 1 << 20
_MOST_POLL_MS = 2**31 - 1  # 24 days; poll takes no more
# A pass over 2**27 positions that is almost done is 1 GiB of positions; beyond that it is no
# message.
MOST_BYTES = 1 << 30
_LARGE_BYTES = 1 << 16
_encoder = msgspec.msgpack.Encoder(enc_hook=as_bytes)


def frame(message: msgspec.Struct) -> bytes:
    """Return a message as it travels."""
    body = _encoder.encode(message)
    if len(body) > MOST_BYTES:
        raise BadArgument(
            f"{type(message).__name__} would be a message of {len(body)} bytes; at most "
            f"{MOST_BYTES} are allowed. Give the dataset the path of its data, not the data"
        )
    return len(body).to_bytes(_LENGTH_BYTES, "big") + body


class Allowance:
    """The bytes that messages of all clients together may take."""

    def __init__(self, most_bytes: int) -> None:
        """Start with nothing taken."""
        self.most_bytes = most_bytes
        self.taken_bytes = 0

    def take(self, count: int) -> None:
        """Take this many bytes; raise BadMessage if they are not left. Negative: give back."""
        if count > 0 and self.taken_bytes + count > self.most_bytes:
            raise BadMessage(
                f"what clients have sent would take {self.taken_bytes + count} bytes of the "
                f"daemon's own memory; at most {self.most_bytes} are allowed. Give the daemon "
                "more memory (joader up --memory), or run fewer or smaller jobs"
            )
        self.taken_bytes += count


class Stream(Generic[T]):
    """Bytes in, messages of one union out."""

    def __init__(
        self, kinds: Any, most_bytes: int = MOST_BYTES, allowance: Allowance | None = None
    ) -> None:
        """Accept messages of these kinds, up to a size, and count what is held."""
        self._decoder: msgspec.msgpack.Decoder[T] = msgspec.msgpack.Decoder(
            kinds, dec_hook=from_bytes
        )
        self._most_bytes = most_bytes
        self._allowance = allowance or Allowance(2 * MOST_BYTES)
        self._buffer = bytearray()
        self._start = 0  # of what was not taken

    def feed(self, data: bytes | memoryview) -> Iterator[T]:
        """Yield the messages that are complete with these bytes."""
        self.put(data)
        while (message := self.take()) is not None:
            yield message

    def put(self, data: bytes | memoryview) -> None:
        """Keep what was received; raise BadMessage if there is no room for it."""
        self._allowance.take(len(data))
        self._buffer += data

    def take(self) -> T | None:
        """Return the next message, if it is complete."""
        start = self._start + _LENGTH_BYTES
        if len(self._buffer) < start:
            self._drop_taken()
            return None
        length = int.from_bytes(self._buffer[self._start : start], "big")
        if length > self._most_bytes:
            raise BadMessage(
                f"a message of {length} bytes is too long; at most {self._most_bytes} are allowed"
            )
        end = start + length
        if len(self._buffer) < end:
            self._drop_taken()
            return None
        body: bytes | bytearray = self._buffer
        if length < _LARGE_BYTES:
            body = self._buffer[start:end]
            self._start = end
        else:  # not copied: the buffer holds little besides it
            self._buffer = self._buffer[end:]
            self._start = 0
            del body[end:], body[:start]
        self._allowance.taken_bytes -= _LENGTH_BYTES + length
        try:
            return self._decoder.decode(body)
        except msgspec.ValidationError as error:
            raise BadMessage(f"a message that nobody expects: {error}") from error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise BadMessage(f"a message that cannot be read: {error}") from error

    def _drop_taken(self) -> None:
        """Drop what was taken, once for all messages that arrived together."""
        del self._buffer[: self._start]
        self._start = 0

    def close(self) -> None:
        """Drop what is not complete."""
        self._allowance.take(self._start - len(self._buffer))
        self._buffer = bytearray()
        self._start = 0


class Mail:
    """Messages to send through asyncio transports, those of one turn of the loop at once."""

    def __init__(self) -> None:
        """Start with nothing."""
        self._frames: list[bytes] = []
        self._transport: Transport | None = None

    def send(self, transport: "Transport", messages: Iterable[msgspec.Struct]) -> None:
        """Send messages at the end of this turn."""
        if not self._frames:
            import asyncio  # late: jobs and workers, which have no transports, do without it

            asyncio.get_running_loop().call_soon(self.flush)
        self._transport = transport
        self._frames += map(frame, messages)

    def flush(self) -> None:
        """Send what there is."""
        if self._frames and self._transport is not None:
            self._transport.write(b"".join(self._frames))
            self._frames.clear()


class Channel(Generic[T]):
    """A blocking socket that speaks messages: for clients and workers."""

    def __init__(self, sock: socket.socket, kinds: Any) -> None:
        """Speak through this connected socket."""
        self.socket = sock
        self._stream: Stream[T] = Stream(kinds)
        self._ready: list[T] = []
        self._look = select.poll()
        self._look.register(sock, select.POLLIN)

    def leave_open(self) -> None:
        """Have the end of the process close the socket: Python would warn that nobody did."""
        self.socket.detach()

    def send(self, *messages: msgspec.Struct) -> None:
        """Send messages, at once."""
        try:
            self.socket.sendall(b"".join(map(frame, messages)))
        except OSError as error:
            raise ConnectionLost(f"the other side is gone: {error}") from error

    def receive(self, timeout_s: float | None = None, watched: int | None = None) -> T:
        """Return the next message; raise TimeoutError if none comes in time.

        Also raise ConnectionLost if nothing has come and a `watched` process (a pidfd) has ended.
        """
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while not self._ready:
            left_s = None if deadline is None else max(0.0, deadline - time.monotonic())
            if watched is not None:
                self._wait_beside(watched, left_s)
            self.socket.settimeout(left_s)
            self._read()
        return self._ready.pop(0)

    def _wait_beside(self, watched: int, timeout_s: float | None) -> None:
        look = select.poll()
        look.register(self.socket, select.POLLIN)
        look.register(watched, select.POLLIN)
        ready = dict(look.poll(None if timeout_s is None else min(timeout_s * 1000, _MOST_POLL_MS)))
        if not ready:
            raise TimeoutError("nothing has come yet")
        if self.socket.fileno() not in ready:
            raise ConnectionLost("the process that was to serve us has ended")

    def comes(self, timeout_s: float) -> bool:
        """Tell whether there is something to receive, in a while; the socket stays as it is.

        Not by a timeout of the socket: another thread may be sending.
        """
        return bool(self._ready or self._look.poll(timeout_s * 1000))

    def look_ahead(self) -> list[T]:
        """Return the messages that have arrived, without waiting and without receiving them.

        Raise ConnectionLost if the other side has gone after that.
        """
        while self._look.poll(0):
            self._read()
        return self._ready

    def receive_ready(self, wanted: Callable[[T], bool]) -> list[T]:
        """Receive the messages that have arrived, without waiting, up to the first unwanted one."""
        count = 0
        for message in self.look_ahead():
            if not wanted(message):
                break
            count += 1
        received = self._ready[:count]
        del self._ready[:count]
        return received

    def _read(self) -> None:
        try:
            data = self.socket.recv(1 << 18)
        except BlockingIOError as error:  # with a timeout of 0
            raise TimeoutError("nothing has come yet") from error
        except TimeoutError:
            raise
        except OSError as error:
            raise ConnectionLost(f"the other side is gone: {error}") from error
        if not data:
            raise ConnectionLost("the other side has closed the connection")
        self._ready += self._stream.feed(data)

    def close(self) -> None:
        """Close the socket."""
        self.socket.close()


def readable(descriptor: int, timeout_s: float = 0.0) -> bool:
    """Tell whether a descriptor can be read in a while; of a pidfd: whether its process has ended.

    Not by select(), which knows no descriptors beyond 1023: a job may have thousands of files open.
    """
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    return bool(waiting.poll(min(int(timeout_s * 1000), _MOST_POLL_MS)))


def connected_to(path: Path, timeout_s: float) -> socket.socket:
    """Return a socket to a daemon of this user; raise NoDaemon if there is none."""
    sock = socket.socket(socket.AF_UNIX)
    sock.settimeout(timeout_s)
    try:
        sock.connect(os.fspath(path))
        _, user, _ = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        if user != os.getuid():
            raise NoDaemon(f"the daemon at {path} belongs to user {user}, not to {os.getuid()}")
    except BaseException as error:
        sock.close()
        if isinstance(error, OSError) and not isinstance(error, NoDaemon):
            raise NoDaemon(f"cannot reach a daemon at {path}: {error}") from error
        raise
    return sock


def welcomed(sock: socket.socket, hello: Hello, count: int) -> tuple[Welcome, list[int]]:
    """Say who we are, and return the daemon's welcome with the descriptors it brings.

    The message comes on the raw socket: asyncio's transports cannot carry descriptors.
    """
    sock.sendall(frame(hello))
    # To the byte: what the daemon sends next is for another reader.
    length, descriptors = _exactly(sock, _LENGTH_BYTES, max(1, count))
    stream: Stream[Welcome | Refuse] = Stream(Welcome | Refuse, _WELCOME_BYTES)
    stream.put(length)
    stream.take()  # BadMessage if it announces more than a daemon says, before that is waited for
    body, _ = _exactly(sock, int.from_bytes(length, "big"), 0)
    message = next(stream.feed(body))
    if isinstance(message, Refuse):
        raise Refusal(message.reason)
    if len(descriptors) != count:
        raise BadMessage(f"the daemon's welcome brought {len(descriptors)} descriptors")
    return message, descriptors


def _exactly(sock: socket.socket, size: int, count: int) -> tuple[bytes, list[int]]:
    """Receive exactly `size` bytes, with at most `count` descriptors."""
    data, descriptors = b"", []
    while len(data) < size:
        if count:
            part, found, _, _ = socket.recv_fds(sock, size - len(data), count)
            descriptors += found
        else:
            part = sock.recv(size - len(data))
        if not part:
            raise ConnectionLost("the daemon closed the connection before it said welcome")
        data += part
    return data, descriptors
