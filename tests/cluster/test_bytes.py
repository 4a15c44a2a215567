"""Samples from one arena to another, by real sockets."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import numpy as np

from joader.cluster.byte_link import Arrival, ByteLink, Slot
from joader.cluster.byte_server import ByteServer, Load
from joader.cluster.listener import Listener, listening
from joader.memory import Arena
from joader.messages.nodes import NOT_SENT, Ask, Knock, Node, Parcel

KEY = b"k" * 32


class Pair:
    """A node that sends and one that fetches."""

    def __init__(self, size: int) -> None:
        self.home, self.here = Arena(size), Arena(size)
        self.home.view[:] = np.random.default_rng(0).integers(
            0, 256, self.home.size_bytes, np.uint8
        )
        self.asked: list[Ask] = []
        self.arrivals: list[Arrival] = []
        self.ends: list[str] = []
        self.sent = 0
        self.server: ByteServer | None = None

    def let_in(self, sock: socket.socket, knock: Knock) -> None:
        self.server = ByteServer(sock, knock, self.home, self.on_ask, lambda _: None)

    def on_ask(self, server: ByteServer, ask: Ask) -> None:
        self.asked.append(ask)

    def answer(self, ask: Ask, spans: list[tuple[int, int]]) -> None:
        assert self.server is not None
        sizes = tuple(size if size >= 0 else NOT_SENT for _, size in spans)
        parcel = Parcel(ask.number, sizes, (b"{}",), (0,) * len(sizes))
        self.server.send(Load(parcel, spans, self.on_sent))

    def on_sent(self) -> None:
        self.sent += 1


@asynccontextmanager
async def linked(size: int = 1 << 22) -> AsyncIterator[tuple[Pair, ByteLink]]:
    pair = Pair(size)
    listener = Listener(listening("127.0.0.1", 0), KEY, pair.let_in)
    link = ByteLink(
        Node("home", "127.0.0.1", listener.port),
        KEY,
        Node("here", "127.0.0.1", 1),
        pair.here,
        on_up=lambda _: None,
        on_arrival=lambda _, arrival: pair.arrivals.append(arrival),
        on_end=lambda _, reason: pair.ends.append(reason),
    )
    await until(lambda: link.is_up and pair.server is not None)
    try:
        yield pair, link
    finally:
        link.close()
        await until(lambda: bool(pair.ends))
        listener.close()
        pair.home.close()
        pair.here.close()


async def until(condition: object) -> None:
    assert callable(condition)
    for _ in range(500):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not happen in time")


async def test_many_samples_come_in_one_answer_each_to_its_slot() -> None:
    async with linked() as (pair, link):
        rows = np.arange(700)
        slots = [Slot(64 * (699 - row) * 8, 64 * 8) for row in range(700)]
        link.ask("recipe", rows, slots)
        await until(lambda: pair.asked)
        assert pair.asked[0].rows.tolist() == rows.tolist()
        spans = [(64 * row, 1 + row % 512) for row in range(700)]
        pair.answer(pair.asked[0], spans)
        await until(lambda: pair.arrivals and pair.sent == 1)
        for slot, (offset, size) in zip(slots, spans, strict=True):
            came = pair.here.slot(slot.offset, size)
            assert np.array_equal(came, pair.home.slot(offset, size))


async def test_what_does_not_fit_comes_apart_and_what_is_not_sent_leaves_its_slot_alone() -> None:
    async with linked() as (pair, link):
        pair.here.view[:] = 7
        link.ask("recipe", np.arange(3), [Slot(0, 10), Slot(64, 100), Slot(-1, 0)])
        await until(lambda: pair.asked)
        pair.answer(pair.asked[0], [(0, 50), (0, -1), (128, 60)])
        await until(lambda: pair.arrivals)
        arrival = pair.arrivals[0]
        assert arrival.parcel.sizes == (50, NOT_SENT, 60)
        assert bytes(arrival.apart[0]) == pair.home.slot(0, 50).tobytes()
        assert bytes(arrival.apart[2]) == pair.home.slot(128, 60).tobytes()
        assert (pair.here.view == 7).all()


async def test_answers_come_in_any_order() -> None:
    async with linked() as (pair, link):
        first = link.ask("recipe", np.arange(1), [Slot(0, 64)])
        second = link.ask("recipe", np.arange(1), [Slot(64, 64)])
        await until(lambda: len(pair.asked) == 2)
        pair.answer(pair.asked[1], [(640, 64)])
        pair.answer(pair.asked[0], [(64, 64)])
        await until(lambda: len(pair.arrivals) == 2)
        assert [arrival.parcel.number for arrival in pair.arrivals] == [second, first]
        assert np.array_equal(pair.here.slot(0, 64), pair.home.slot(64, 64))
        assert np.array_equal(pair.here.slot(64, 64), pair.home.slot(640, 64))


async def test_a_home_that_is_gone_is_told_once_and_nothing_is_written_after_that() -> None:
    async with linked() as (pair, link):
        link.ask("recipe", np.arange(1), [Slot(0, 64)])
        await until(lambda: pair.asked)
        assert pair.server is not None
        pair.server.close()
        await until(lambda: pair.ends)
        assert not link.is_up
        pair.answer(pair.asked[0], [(0, 64)])
        await until(lambda: pair.sent == 1)  # it is told also of what could not be sent
        assert not pair.arrivals
