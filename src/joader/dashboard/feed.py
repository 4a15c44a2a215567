"""Asks the daemon once a second, for all pages together, and hands each page what is new.

With it goes how busy the machine is, which the daemon does not know. Nobody is asked while nobody
looks. A page that does not keep up loses what it has not taken: it gets everything anew, and never
holds up another, let alone the daemon. A daemon that goes away is told as such, and the next one is
found by itself.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import asdict
from pathlib import Path

from joader.client.watcher import Watcher
from joader.dashboard.machine import Machine
from joader.errors import JoaderError
from joader.statistics import RunStatistics, run_from_json

EVERY_S = 1.0
_ANSWER_S = 5.0
# Events that wait for a page before it counts as one that does not keep up.
_MOST_WAITING = 4
_MACHINE_EVERY_S = 2.0

Event = tuple[str, bytes]


class Feed:
    """What pages are told of a daemon."""

    def __init__(self, path: Path) -> None:
        """Ask the daemon at this socket, whichever it is at the time."""
        self._path = path
        self._pages: set[asyncio.Queue[Event | None]] = set()
        self._asking: asyncio.Task[None] | None = None
        self._looking: asyncio.Task[None] | None = None
        self._machine = Machine()
        self.daemon_seen = False  # when it was asked last

    @property
    def pages(self) -> int:
        """How many pages are open."""
        return len(self._pages)

    async def events(self) -> AsyncIterator[Event]:
        """Yield what a page is told, from now until it leaves."""
        queue: asyncio.Queue[Event | None] = asyncio.Queue(_MOST_WAITING)
        self._pages.add(queue)
        if self._asking is None:
            self._asking = asyncio.ensure_future(self._ask_on())
        if self._looking is None:
            self._looking = asyncio.ensure_future(self._look_on())
        try:
            yield await self._everything()
            while True:
                event = await queue.get()
                yield await self._everything() if event is None else event
        finally:
            self._pages.discard(queue)

    async def run(self) -> RunStatistics:
        """Return the figures and all of their history; without a daemon, that there is none."""
        try:
            return run_from_json(await asyncio.to_thread(self._asked, 0.0))
        except JoaderError:
            return RunStatistics()

    async def _everything(self) -> Event:
        try:
            return "run", await asyncio.to_thread(self._asked, 0.0)
        except JoaderError as error:
            return _gone(error)

    def _asked(self, since: float) -> bytes:
        with Watcher(self._path, _ANSWER_S) as watcher:
            return watcher.run_as_json(since)

    async def _ask_on(self) -> None:
        """Ask again and again while somebody looks."""
        watcher: Watcher | None = None
        since = 0.0
        try:
            while self._pages:
                try:
                    if watcher is None:
                        watcher = await asyncio.to_thread(Watcher, self._path, _ANSWER_S)
                        since = 0.0
                    body = await asyncio.to_thread(watcher.run_as_json, since)
                    moments = run_from_json(body).moments
                    since = moments[-1].time if moments else since
                    self._tell(("run", body))
                    self.daemon_seen = True
                except JoaderError as error:
                    if watcher is not None:
                        watcher.close()
                    watcher, self.daemon_seen = None, False
                    self._tell(_gone(error))
                await asyncio.sleep(EVERY_S)
        finally:
            if watcher is not None:
                watcher.close()
            self._asking = None

    async def _look_on(self) -> None:
        """Look at the machine again and again while somebody looks at a page."""
        try:
            while self._pages:
                figures = await asyncio.to_thread(self._machine.look)
                self._tell(("machine", json.dumps(asdict(figures)).encode()))
                await asyncio.sleep(_MACHINE_EVERY_S)
        finally:
            self._looking = None

    def _tell(self, event: Event) -> None:
        for queue in self._pages:
            if queue.full():
                while not queue.empty():
                    queue.get_nowait()
                queue.put_nowait(None)
            else:
                queue.put_nowait(event)


def _gone(error: JoaderError) -> Event:
    # JSON, as an event must not contain a line break.
    return "gone", json.dumps({"error": f"{error}."}).encode()
