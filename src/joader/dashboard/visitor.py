"""A connection to the dashboard: who does not ask for anything soon has to leave.

Anybody on this machine can connect, and only a request shows the token. So those who have not asked
yet are counted apart from pages (app.py), have little time, and the oldest of them goes if there
are too many: whoever asks at once gets in, however many wait at the door.
"""

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

HEADERS_S = 5.0
MOST_SILENT = 64


class Visitor(H11Protocol):
    """Speak HTTP with one visitor."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Let it in for a moment."""
        super().connection_made(transport)
        self._came = self.loop.time()
        self.loop.call_later(HEADERS_S, self._leave_if_silent)
        silent = [one for one in self.connections if isinstance(one, Visitor) and one.silent]
        if len(silent) > MOST_SILENT:
            min(silent, key=lambda one: one._came)._leave_if_silent()

    @property
    def silent(self) -> bool:
        """Whether it has not asked for anything yet, to the end of its headers."""
        return self.cycle is None

    def _leave_if_silent(self) -> None:
        if self.silent:
            self.transport.abort()
