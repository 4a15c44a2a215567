"""Messages as bytes: msgpack behind a length of four bytes, in both directions.

A reader feeds what it received to a `Stream` and gets whole messages back. No pickle: what a peer
sends can at worst be refused.
"""

import asyncio
import socket
from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar

import msgspec

from joader.errors import BadMessage, ConnectionLost

T = TypeVar("T")
_LENGTH_BYTES = 4
# A pass over 2**27 positions that is almost done is 1 GiB of positions; beyond that it is no
# message.
MOST_BYTES = 1 << 30
_encoder = msgspec.msgpack.Encoder()


def frame(message: msgspec.Struct) -> bytes:
    """Return a message as it travels."""
    body = _encoder.encode(message)
    return len(body).to_bytes(_LENGTH_BYTES, "big") + body


class Stream(Generic[T]):
    """Bytes in, messages of one union out."""

    def __init__(self, kinds: Any) -> None:
        """Accept messages of these kinds."""
        self._decoder: msgspec.msgpack.Decoder[T] = msgspec.msgpack.Decoder(kinds)
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[T]:
        """Yield the messages that are complete with these bytes."""
        self._buffer += data
        while len(self._buffer) >= _LENGTH_BYTES:
            length = int.from_bytes(self._buffer[:_LENGTH_BYTES], "big")
            if length > MOST_BYTES:
                raise BadMessage(f"a message of {length} bytes; at most {MOST_BYTES} are allowed")
            end = _LENGTH_BYTES + length
            if len(self._buffer) < end:
                return
            body = bytes(self._buffer[_LENGTH_BYTES:end])
            del self._buffer[:end]
            try:
                message = self._decoder.decode(body)
            except msgspec.DecodeError as error:
                raise BadMessage(f"a message that nobody expects: {error}") from error
            yield message


class Mail:
    """What is to be sent through an asyncio transport, all of one turn of the loop at once."""

    def __init__(self) -> None:
        """Start with nothing."""
        self._frames: list[bytes] = []
        self._transport: asyncio.Transport | None = None

    def send(self, transport: asyncio.Transport, messages: Iterable[msgspec.Struct]) -> None:
        """Send messages at the end of this turn."""
        if not self._frames:
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

    def send(self, *messages: msgspec.Struct) -> None:
        """Send messages, at once."""
        try:
            self.socket.sendall(b"".join(map(frame, messages)))
        except OSError as error:
            raise ConnectionLost(f"the other side is gone: {error}") from error

    def receive(self, timeout_s: float | None = None) -> T:
        """Return the next message; TimeoutError if none comes in time."""
        self.socket.settimeout(timeout_s)
        while not self._ready:
            try:
                data = self.socket.recv(1 << 18)
            except TimeoutError:
                raise
            except OSError as error:
                raise ConnectionLost(f"the other side is gone: {error}") from error
            if not data:
                raise ConnectionLost("the other side has closed the connection")
            self._ready = list(self._stream.feed(data))
        return self._ready.pop(0)

    def close(self) -> None:
        """Close the socket."""
        self.socket.close()
