"""Strangers at the door of the dashboard, real connections in one loop."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

pytest.importorskip("uvicorn")

import uvicorn

from joader.dashboard import visitor
from joader.dashboard.main import _listening
from joader.dashboard.visitor import MOST_SILENT, Visitor

SIZE = [(b"content-length", b"5")]
ASKS = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


async def hello(_: object, __: object, send: Callable[[object], Awaitable[None]]) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": SIZE})
    await send({"type": "http.response.body", "body": b"hello"})


def served(play: Callable[[int], Awaitable[None]]) -> None:
    """Serve while a test plays visitors at a port."""

    async def serve() -> None:
        listener = _listening(0)
        config = uvicorn.Config(hello, http=Visitor, lifespan="off", log_level="critical")  # type: ignore[arg-type]
        server = uvicorn.Server(config)
        serving = asyncio.ensure_future(server.serve(sockets=[listener]))
        try:
            await play(listener.getsockname()[1])
        finally:
            server.should_exit = True
            await serving
            listener.close()

    asyncio.run(serve())


async def asked(port: int) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(ASKS)
    answer = await asyncio.wait_for(reader.read(), 10)
    writer.close()
    return answer


def test_who_asks_gets_in_however_many_say_nothing() -> None:
    async def play(port: int) -> None:
        silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3 * MOST_SILENT)]
        assert (await asked(port)).endswith(b"hello")
        # The oldest had to leave.
        await asyncio.wait_for(silent[0][0].read(), 10)
        for _, writer in silent:
            writer.close()

    served(play)


def test_who_does_not_end_its_headers_has_to_leave_and_who_asked_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(visitor, "HEADERS_S", 0.05)

    async def play(port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(ASKS[:-2])
        assert await asyncio.wait_for(reader.read(), 10) == b""
        writer.close()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(ASKS.replace(b"Connection: close\r\n", b""))
        assert (await reader.readuntil(b"hello")).endswith(b"hello")
        await asyncio.sleep(0.1)
        writer.write(ASKS)
        assert (await reader.read()).endswith(b"hello")
        writer.close()

    served(play)
