"""Sends prepared samples to another node over one connection, straight from the arena.

It has two threads: one reads requests and passes them to the daemon's loop, the other sends what
the loop reports ready. `sendmsg` on slices of the arena lets the kernel make the only copy, without
the GIL. The loop pins samples until their `sent` is called.
"""

import asyncio
import queue
import socket
import struct
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

from msgspec.structs import replace

from joader.cluster.leader import BEAT_S, SILENT_S
from joader.cluster.tls import wire_of
from joader.errors import BadMessage, ConnectionLost
from joader.memory import Arena
from joader.messages.nodes import Ask, AskHeld, Enough, Held, Knock, Node, Parcel
from joader.wire import Channel, frame

Question = Ask | AskHeld | Enough

# The most buffers per call; the kernel takes 1,024.
_MOST_BUFFERS = 512
# struct tcp_info: bytes to read, and the offsets of tcpi_bytes_acked and tcpi_delivery_rate.
_INFO_BYTES, _ACKED_AT, _RATE_AT = 168, 120, 160
_LEAST_ACKED_BYTES = 1 << 16


class Load(NamedTuple):
    """One unit to send: a parcel's message, and the places of its samples."""

    parcel: Parcel | Held
    spans: Sequence[tuple[int, int]] = ()  # offset and size
    sent: Callable[[], None] = lambda: None  # called in the loop, even if the connection is gone


class ByteServer:
    """The connection of one node that fetches from here."""

    def __init__(
        self,
        sock: socket.socket,
        knock: Knock,
        arena: Arena,
        on_ask: Callable[["ByteServer", Question], None],
        on_end: Callable[["ByteServer"], None],
    ) -> None:
        """Serve until the connection ends; all callbacks run in the running loop."""
        self.node: Node = knock.node
        self._socket, self._arena = sock, arena
        self._on_ask, self._on_end = on_ask, on_end
        self._loop = asyncio.get_running_loop()
        self._loads: queue.SimpleQueue[Load | None] = queue.SimpleQueue()
        self._closed = False
        # An unreachable node reads nothing: the sender must not wait for it forever.
        sock.settimeout(SILENT_S)
        for target in (self._read, self._write):
            threading.Thread(target=target, name="joader-bytes", daemon=True).start()

    def send(self, load: Load) -> None:
        """Queue a parcel to be sent."""
        if self._closed:
            self._loop.call_soon(load.sent)  # the sending thread has ended
        else:
            self._loads.put(load)

    def close(self) -> None:
        """End the connection."""
        self._closed = True
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._loads.put(None)

    def _read(self) -> None:
        channel: Channel[Question] = Channel(self._socket, Question)
        try:
            while not self._closed:
                if not channel.comes(SILENT_S):
                    break  # it sends heartbeats, so silence means that it is gone
                for ask in channel.receive_ready(lambda _: True):
                    if not isinstance(ask, Ask) or ask.number:
                        self._loop.call_soon_threadsafe(self._on_ask, self, ask)
        except (ConnectionLost, BadMessage, RuntimeError):  # closed; RuntimeError: so is the loop
            pass
        self.close()
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._on_end, self)

    def _write(self) -> None:
        broken = False
        while True:
            try:
                load = self._loads.get(timeout=BEAT_S)
            except queue.Empty:
                load = Load(Parcel(0))
            if load is None:
                break
            if not broken and not self._closed:
                try:
                    self._send(load)
                except (OSError, ValueError):
                    broken = True
                    self.close()
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(load.sent)
        self._socket.close()

    def _send(self, load: Load) -> None:
        message = load.parcel
        if isinstance(message, Parcel):
            message = replace(message, bytes_per_s=delivery_rate(self._socket))
        buffers = [memoryview(frame(message))]
        view = self._arena.view.data
        buffers += [view[offset : offset + size] for offset, size in load.spans if size > 0]
        send_all(self._socket, buffers)


def delivery_rate(sock: socket.socket) -> float:
    """Return the rate at which bytes arrive, by the kernel; 0 until there are enough.

    The duration of a send says nothing: what fits the socket's buffer returns at once on any link.
    """
    info = wire_of(sock).getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO_BYTES)
    if len(info) < _INFO_BYTES:
        return 0.0  # a kernel before 4.9
    acked, rate = (struct.unpack_from("=Q", info, at)[0] for at in (_ACKED_AT, _RATE_AT))
    return float(rate) if acked >= _LEAST_ACKED_BYTES else 0.0


def send_all(sock: socket.socket, buffers: Sequence[memoryview]) -> None:
    """Send buffers one after the other, many per call."""
    left = list(buffers)
    start = 0
    while start < len(left):
        count = sock.sendmsg(left[start : start + _MOST_BUFFERS])
        while count:
            if count >= left[start].nbytes:
                count -= left[start].nbytes
                start += 1
            else:
                left[start] = left[start][count:]
                count = 0
