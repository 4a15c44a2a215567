"""Prepared samples on their way out: one connection from another node, served from the arena.

Two threads: one reads what is asked and hands it to the daemon's loop, one sends what the loop says
is ready. The kernel copies out of the arena itself (`sendmsg` on slices of it), without the GIL and
without a copy of ours. What is being sent is pinned by the loop until `sent` comes back.
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

# Buffers of one call; the kernel takes 1,024.
_MOST_BUFFERS = 512
# Of struct tcp_info: how much of it, and where tcpi_bytes_acked and tcpi_delivery_rate lie.
_INFO_BYTES, _ACKED_AT, _RATE_AT = 168, 120, 160
_LEAST_ACKED_BYTES = 1 << 16


class Load(NamedTuple):
    """What is sent at once: a parcel's words, and where its bytes lie."""

    parcel: Parcel | Held
    spans: Sequence[tuple[int, int]] = ()  # offset and size
    sent: Callable[[], None] = lambda: None  # told in the loop, also if the connection is gone


class ByteServer:
    """One node that fetches from here."""

    def __init__(
        self,
        sock: socket.socket,
        knock: Knock,
        arena: Arena,
        on_ask: Callable[["ByteServer", Question], None],
        on_end: Callable[["ByteServer"], None],
    ) -> None:
        """Serve until the connection ends, and say so in the running loop."""
        self.node: Node = knock.node
        self._socket, self._arena = sock, arena
        self._on_ask, self._on_end = on_ask, on_end
        self._loop = asyncio.get_running_loop()
        self._loads: queue.SimpleQueue[Load | None] = queue.SimpleQueue()
        self._closed = False
        # A node that is cut off reads nothing: the sender must not wait for it forever.
        sock.settimeout(SILENT_S)
        for target in (self._read, self._write):
            threading.Thread(target=target, name="joader-bytes", daemon=True).start()

    def send(self, load: Load) -> None:
        """Have a parcel sent, after those before it."""
        if self._closed:
            self._loop.call_soon(load.sent)  # nobody looks at the queue any more
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
                    break  # it beats: nothing for so long means that it is gone
                for ask in channel.receive_ready(lambda _: True):
                    if not isinstance(ask, Ask) or ask.number:
                        self._loop.call_soon_threadsafe(self._on_ask, self, ask)
        except (ConnectionLost, BadMessage, RuntimeError):  # gone; RuntimeError: so is the loop
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
    """Return how many bytes a second the kernel sees arrive; 0 until that says something.

    Not by how long a send takes: what fits the socket's buffer is sent at once, over any link.
    """
    info = wire_of(sock).getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO_BYTES)
    if len(info) < _INFO_BYTES:
        return 0.0  # a kernel before 4.9
    acked, rate = (struct.unpack_from("=Q", info, at)[0] for at in (_ACKED_AT, _RATE_AT))
    return float(rate) if acked >= _LEAST_ACKED_BYTES else 0.0


def send_all(sock: socket.socket, buffers: Sequence[memoryview]) -> None:
    """Send buffers one after the other, many in a call."""
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
