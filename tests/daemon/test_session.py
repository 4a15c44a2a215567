"""One client as the daemon sees it: heard in turns, refused with a reason, and ended once."""

import asyncio
import os
from collections.abc import Callable, Coroutine
from typing import Any

from joader.daemon.session import _TURN, Session
from joader.messages import MY_JOB, AskWhy, Refuse, ToClient, Want
from joader.wire import Allowance, Stream, frame


class Line(asyncio.Transport):
    """A connection on paper."""

    def __init__(self) -> None:
        super().__init__()
        self.sent = b""
        self.closed = self.paused = False

    def write(self, data: Any) -> None:
        self.sent += bytes(data)

    def writelines(self, parts: Any) -> None:
        self.sent += b"".join(map(bytes, parts))

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    def pause_reading(self) -> None:
        self.paused = True

    def resume_reading(self) -> None:
        self.paused = False

    def said(self) -> list[Any]:
        return list(Stream[Any](ToClient).feed(self.sent))


class Client:
    """A session, its connection, and what the daemon heard."""

    def __init__(self, most_bytes: int = 1 << 20) -> None:
        self.heard: list[Any] = []
        self.ended = 0
        self.allowance = Allowance(most_bytes)
        self.line = Line()
        self.session = Session(os.getpid(), self.hear, self.end, self.allowance)
        self.session.connection_made(self.line)

    def hear(self, session: Session, message: Any) -> None:
        self.heard.append(message)

    def end(self, session: Session) -> None:
        self.ended += 1


def play(scene: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(scene())


def test_messages_are_heard_in_order_and_count_against_the_allowance_until_then() -> None:
    async def scene() -> None:
        client = Client()
        data = frame(Want(MY_JOB, 2)) + frame(AskWhy())
        client.session.data_received(data[:-1])
        assert [type(message) for message in client.heard] == [Want]
        client.session.data_received(data[-1:])
        assert [type(message) for message in client.heard] == [Want, AskWhy]
        client.session.end()
        assert client.allowance.taken_bytes == 0

    play(scene)


def test_a_client_that_says_much_is_heard_in_turns() -> None:
    async def scene() -> None:
        client = Client()
        client.session.data_received(frame(AskWhy()) * (_TURN + 3))
        assert len(client.heard) == _TURN
        assert client.line.paused
        await asyncio.sleep(0)
        assert len(client.heard) == _TURN + 3
        assert not client.line.paused
        client.session.end()

    play(scene)


def test_who_does_not_read_its_answers_is_not_heard() -> None:
    async def scene() -> None:
        client = Client()
        client.session.pause_writing()
        client.session.data_received(frame(AskWhy()))
        assert client.heard == []
        client.session.resume_writing()
        assert len(client.heard) == 1
        client.session.end()

    play(scene)


def test_what_cannot_be_a_message_is_refused_and_ends_the_session() -> None:
    async def scene() -> None:
        client = Client()
        client.session.data_received(b"\xff" * 8)
        (told,) = client.line.said()
        assert isinstance(told, Refuse)
        assert client.line.closed
        assert client.ended == 1

    play(scene)


def test_an_end_gives_back_what_was_kept_and_comes_once() -> None:
    async def scene() -> None:
        client = Client()
        client.session.keep(1000)
        assert client.allowance.taken_bytes == 1000
        client.session.end()
        client.session.connection_lost(None)
        assert client.allowance.taken_bytes == 0
        assert client.ended == 1
        client.session.data_received(frame(AskWhy()))
        assert client.heard == []

    play(scene)
