"""The pages of a dashboard: who has no token gets 403, whatever it asks for.

Answers are for the user who asks, on this machine: nothing is stored, framed or linked from
elsewhere, and a name that merely resolves to this machine (DNS rebinding) is refused as well.
"""

import secrets
from collections.abc import AsyncIterator
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from joader.dashboard.feed import Feed
from joader.dashboard.metrics import CONTENT_TYPE, exposition
from joader.page import page, summary
from joader.statistics import to_json

_MOST_PAGES = 64
_HOSTS = {"127.0.0.1", "localhost"}
_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def app(feed: Feed, token: str) -> ASGIApp:
    """Return the application that shows what a feed says."""

    async def live(request: Request) -> Response:
        text, policy = page()
        return HTMLResponse(text, headers={**_HEADERS, "Content-Security-Policy": policy})

    async def events(request: Request) -> Response:
        return StreamingResponse(_lines(feed), media_type="text/event-stream", headers=_HEADERS)

    async def metrics(request: Request) -> Response:
        node = (await feed.run()).node
        return Response(exposition(node), media_type=CONTENT_TYPE, headers=_HEADERS)

    async def as_json(request: Request) -> Response:
        body = to_json(await feed.run())
        return Response(body, media_type="application/json", headers=_kept("joader.json"))

    async def as_html(request: Request) -> Response:
        return HTMLResponse(summary(await feed.run()), headers=_kept("joader.html"))

    return _Guard(
        Starlette(
            routes=[
                Route("/", live),
                Route("/events", events),
                Route("/metrics", metrics),
                Route("/summary.json", as_json),
                Route("/summary.html", as_html),
            ]
        ),
        token,
    )


def _kept(name: str) -> dict[str, str]:
    return {**_HEADERS, "Content-Disposition": f'attachment; filename="{name}"'}


async def _lines(feed: Feed) -> AsyncIterator[bytes]:
    yield b"retry: 2000\n\n"  # milliseconds until a page whose connection broke comes again
    async for name, body in feed.events():
        yield b"event: %s\ndata: %s\n\n" % (name.encode(), body)


def _refusal(code: int, words: str) -> Response:
    """Return an answer after which the connection ends: others may want its place."""
    headers = {**_HEADERS, "Connection": "close"}
    return Response(f"{code} {words}\n", code, headers, "text/plain")


class _Guard:
    """Let those in who know the token; the others learn nothing, not even what there is."""

    def __init__(self, inner: ASGIApp, token: str) -> None:
        self._inner, self._token = inner, token.encode()
        self._asking = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._inner(scope, receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
        elif not self._may_pass(scope):
            await _refusal(403, "Forbidden")(scope, receive, send)
        elif self._asking >= _MOST_PAGES:
            await _refusal(503, "Service Unavailable")(scope, receive, send)
        else:
            self._asking += 1
            try:
                await self._inner(scope, receive, send)
            finally:
                self._asking -= 1

    def _may_pass(self, scope: Scope) -> bool:
        headers = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1").rpartition(":")[0]
        asked = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        said = headers.get(b"authorization", b"").removeprefix(b"Bearer ")
        given = asked.encode() or said
        return host in _HOSTS and secrets.compare_digest(given, self._token)
