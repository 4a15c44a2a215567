"""Receives prepared samples over one connection to another node, straight into the arena.

A thread connects and receives samples right into their slots, so the kernel makes the only copy. A
slot that was passed to `ask` belongs to this link until its parcel is reported, or until `on_end`:
then the thread has ended and writes no more. So a slot is never reused while a late answer may
still be written to it.
"""

import asyncio
import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import NamedTuple

import msgspec

from joader.cluster.greeting import knock
from joader.cluster.leader import SILENT_S
from joader.errors import JoaderError
from joader.memory import Arena
from joader.messages import Array, from_bytes
from joader.messages.nodes import Ask, AskHeld, Enough, Held, Node, Parcel
from joader.wire import frame

_MOST_HEADER_BYTES = 1 << 24
# The most buffers per call; the kernel takes 1,024.
_MOST_BUFFERS = 512
_MOST_SAMPLE_BYTES = 1 << 32


class Slot(NamedTuple):
    """Where a sample goes; if it does not fit, it is kept apart until it gets a larger slot."""

    offset: int
    size: int


class Arrival(NamedTuple):
    """The answer to an Ask; samples that did not fit come as bytes, by index."""

    parcel: Parcel
    apart: dict[int, bytearray]


class ByteLink:
    """The connection to one node that this node fetches from."""

    def __init__(
        self,
        node: Node,
        key: bytes,
        own: Node,
        arena: Arena,
        on_up: Callable[["ByteLink"], None],
        on_arrival: Callable[["ByteLink", Arrival], None],
        on_end: Callable[["ByteLink", str], None],
        on_held: Callable[["ByteLink", Held], None] = lambda link, held: None,
    ) -> None:
        """Connect in a thread; all callbacks run in the running loop."""
        self.node = node
        self._key, self._own, self._arena = key, own, arena
        self._on_up, self._on_arrival, self._on_end = on_up, on_arrival, on_end
        self._on_held = on_held
        self._loop = asyncio.get_running_loop()
        self._socket: socket.socket | None = None
        self._slots: dict[int, Sequence[Slot]] = {}
        self._numbers = 0
        self.is_up = False
        threading.Thread(target=self._live, name="joader-fetch", daemon=True).start()

    def ask(
        self,
        recipe: str,
        rows: Array,
        slots: Sequence[Slot],
        digests: bool = False,
        patience_s: float = 1.0,
        moves: bool = False,
    ) -> int:
        """Ask for rows, each for its slot; return the number of the answer."""
        self._numbers += 1
        self._slots[self._numbers] = slots
        self._send(Ask(self._numbers, recipe, rows, digests, patience_s, moves))
        return self._numbers

    def beat(self) -> None:
        """Send a heartbeat."""
        self._send(Ask(0, "", from_bytes(bytes, b"")))

    def ask_held(self, recipe: str) -> None:
        """Ask which rows of a recipe the node holds; `on_held` gets the answer."""
        self._send(AskHeld(recipe))

    def enough(self) -> None:
        """Tell the other node that nothing more will be asked of it."""
        self._send(Enough())

    def close(self) -> None:
        """End the connection; `on_end` follows once nothing is written any more."""
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def _send(self, message: Ask | AskHeld | Enough) -> None:
        # A few hundred bytes: they fit the socket's buffer, unless the other end does not read.
        if self._socket is not None:
            try:
                self._socket.sendall(frame(message))
            except OSError:
                self.close()

    # The thread.

    def _live(self) -> None:
        reason = "it closed the connection"
        try:
            address = (self.node.host, self.node.port)
            self._socket = knock(address, self._key, self._own, "bytes")
            self._socket.settimeout(SILENT_S)
            self._tell(self._came_up)
            self._read(self._socket)
        except TimeoutError:
            reason = f"nothing was heard of it for {SILENT_S:.0f} s"
        except (JoaderError, OSError, msgspec.MsgspecError, ValueError) as error:
            reason = str(error) or type(error).__name__
        finally:
            if self._socket is not None:
                self._socket.close()
            self._tell(lambda: self._ended(reason))

    def _tell(self, what: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the loop has ended, and the daemon with it
            self._loop.call_soon_threadsafe(what)

    def _came_up(self) -> None:
        self.is_up = True
        self._on_up(self)

    def _ended(self, reason: str) -> None:
        self.is_up = False
        self._on_end(self, reason)

    def _read(self, sock: socket.socket) -> None:
        decoder = msgspec.msgpack.Decoder(Parcel | Held, dec_hook=from_bytes)
        length = bytearray(4)
        arena = self._arena.view.data
        while True:
            _fill(sock, memoryview(length))
            size = int.from_bytes(length, "big")
            if size > _MOST_HEADER_BYTES:
                raise ValueError(f"a message of {size} bytes is too long")
            body = bytearray(size)
            _fill(sock, memoryview(body))
            message = decoder.decode(body)
            if isinstance(message, Held):
                self._tell(partial(self._on_held, self, message))
            elif message.number:
                self._receive(sock, message, arena)

    def _receive(self, sock: socket.socket, parcel: Parcel, arena: memoryview) -> None:
        slots = self._slots.pop(parcel.number, None)
        if slots is None or len(parcel.sizes) != len(slots):
            raise ValueError("an answer to an unknown request")
        apart: dict[int, bytearray] = {}
        into: list[memoryview] = []
        if not parcel.digests:
            for place, (slot, size) in enumerate(zip(slots, parcel.sizes, strict=True)):
                if size <= 0:
                    continue
                if size <= slot.size and slot.offset >= 0:
                    into.append(arena[slot.offset : slot.offset + size])
                else:
                    if size > _MOST_SAMPLE_BYTES:
                        raise ValueError(f"a sample of {size} bytes")
                    apart[place] = bytearray(size)
                    into.append(memoryview(apart[place]))
            _fill(sock, *into)
        arrival = Arrival(parcel, apart)
        self._tell(lambda: self._on_arrival(self, arrival))


def _fill(sock: socket.socket, *into: memoryview) -> None:
    """Fill the buffers exactly, one after the other, many per call."""
    left, at = list(into), 0
    while at < len(left):
        count, *_ = sock.recvmsg_into(left[at : at + _MOST_BUFFERS])
        if not count:
            raise ConnectionError("it closed the connection")
        while at < len(left) and count >= left[at].nbytes:
            count -= left[at].nbytes
            at += 1
        if count:
            left[at] = left[at][count:]
