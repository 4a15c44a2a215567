"""How a daemon ends while jobs read: nobody comes in any more, and nobody is cut off halfway.

A daemon is
- *serving*: jobs come and ask;
- *draining* (`begun`): what was asked for is delivered, nothing new is taken on. A job's session
  ends once it has copied all it was handed: until then those slots are its own. Meanwhile other
  nodes of its cluster take over what only this one has (leaving.py);
- *ended* (`stop` is set): nothing is written to the arena any more.

It drains for DRAIN_S at most. Jobs see their connection close, and go on with the next daemon from
what they have.
"""

import asyncio
from collections.abc import Callable, Mapping

from joader.daemon.door import Door
from joader.daemon.session import Session
from joader.engine import Engine
from joader.workers.pool import Pool

# How long batches that were asked for may take after SIGTERM.
DRAIN_S = 10.0


class Drain:
    """The end of a daemon, in good order."""

    def __init__(
        self,
        engine: Engine,
        pool: Pool,
        sessions: Mapping[int, Session],
        stop: asyncio.Event,
        hand_over: Callable[[Callable[[], None]], None],
    ) -> None:
        """Watch these sessions; set `stop` when all have ended, and what is here is handed over."""
        self.begun = False
        self._hand_over, self._hands_over = hand_over, True
        self._engine = engine
        self._pool = pool
        self._sessions = sessions
        self._stop = stop

    def begin(self, door: Door) -> None:
        """Let nobody in any more, and end when all batches asked for are delivered and copied."""
        door.hide()  # who comes now starts another daemon
        if self.begun:
            return
        self.begun = True
        asyncio.get_running_loop().call_later(DRAIN_S, self.end_all)
        self._hand_over(self._handed_over)
        self.end_those_done()
        self.stop_if_empty()

    def _handed_over(self) -> None:
        self._hands_over = False
        self.end_those_done()
        self.stop_if_empty()

    def end_those_done(self) -> None:
        """End all sessions that have got and copied what they asked for."""
        for session in list(self._sessions.values()):  # a session that ends leaves the mapping
            self.end_if_done(session)

    def end_if_done(self, session: Session) -> None:
        """End a session that has got and copied what it asked for."""
        if not self.begun or session.job is None or (self._hands_over and session.elsewhere):
            return  # other nodes take what is here
        # Who has no workers gets none any more: they would not find the door.
        waits = session.owed and self._pool.has_workers(session.job)
        if not waits and not self._engine.holds(session.job):
            session.end()

    def stop_if_empty(self) -> None:
        """Stop if no job is left."""
        # Nodes that fetch from here are not waited for: they do the rest themselves.
        readers = any(not session.elsewhere for session in self._sessions.values())
        if self.begun and not self._hands_over and not readers:
            self._stop.set()

    def end_all(self) -> None:
        """End now, whoever waits."""
        # First: sessions that end tell the engine, and what follows from that must not be done.
        self._stop.set()
        for session in list(self._sessions.values()):
            session.end()
