"""The pool: worker processes by environment, fed a few rows ahead, replaced when they die.

Jobs whose interpreter, import path or folder differ get workers of their own. Each worker has up to
AHEAD rows in hand, so that it never waits for the daemon; the rest queue here in the order the
engine gave them, which is nearest deadline first. A worker that dies costs its rows one try.

Owner of worker processes and sockets: this class. All of it runs on the daemon's event loop.
"""

import asyncio
import os
import socket
import subprocess
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from joader.errors import BadMessage
from joader.memory import Arena
from joader.messages import (
    Cook,
    Cooked,
    Environment,
    FromWorker,
    PutAt,
    RecipeBody,
    Spoiled,
    Stop,
    TooBig,
)
from joader.wire import Stream, frame

AHEAD = 4
# How long a row of a job that is gone may go on before its worker is replaced.
GRACE_S = 2.0
# One thread each: with a process a core, the threads of numeric libraries only fight for the cores.
_ONE_THREAD = ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "VECLIB")


@dataclass(eq=False)
class _Crew:
    """The workers of one environment, and the rows that wait for one.

    Its processes keep the modules they have imported, so a crew serves code that is older than it.
    """

    environment: Environment
    started: float = field(default_factory=time.time)
    queue: deque[Cook] = field(default_factory=deque)
    workers: list["_Handle"] = field(default_factory=list)


@dataclass
class _Recipe:
    crew: _Crew
    body: bytes


class _Handle(asyncio.Protocol):
    """One worker process as the daemon sees it."""

    def __init__(self, pool: "Pool", crew: _Crew, process: subprocess.Popen[bytes]) -> None:
        self.pool = pool
        self.crew = crew
        self.process = process
        self.knows: set[str] = set()
        self.busy: dict[int, Cook] = {}
        self._stream: Stream[FromWorker] = Stream(FromWorker)
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.pool.feed(self.crew)

    def data_received(self, data: bytes) -> None:
        try:
            for message in self._stream.feed(data):
                if not isinstance(message, TooBig):
                    self.busy.pop(message.sample, None)
                self.pool.report(message)
        except BadMessage:
            self.process.kill()
        self.pool.feed(self.crew)

    def connection_lost(self, error: Exception | None) -> None:
        self.pool.lost(self)

    def send(self, *messages: Any) -> None:
        if self.transport is not None:
            self.transport.write(b"".join(map(frame, messages)))


class Pool:
    """All worker processes of the daemon."""

    def __init__(
        self,
        arena: Arena,
        size: int,
        threads: int,
        report: Callable[[Cooked | TooBig | Spoiled], None],
        on_lost: Callable[[tuple[int, ...], str], None],
    ) -> None:
        """Start nothing yet: `size` workers come with the first row of an environment."""
        self._arena = arena
        self._size = size
        self._threads = threads
        self.report = report
        self._on_lost = on_lost
        self._recipes: dict[str, _Recipe] = {}
        self._crews: dict[Environment, _Crew] = {}  # the newest of each
        self._all: list[_Crew] = []
        self._leaving: list[subprocess.Popen[bytes]] = []  # told to end, to be waited for
        self._closing = False
        self._tasks: set[asyncio.Task[Any]] = set()

    @property
    def workers(self) -> int:
        """How many worker processes there are."""
        return sum(len(crew.workers) for crew in self._all)

    def knows(self, recipe: str) -> bool:
        """Tell whether the code of the recipe is here."""
        return recipe in self._recipes

    def learn(self, recipe: str, environment: Environment, body: bytes, code_time: float) -> None:
        """Keep the code of a recipe; code that is newer than its workers gets new ones."""
        crew = self._crews.get(environment)
        if crew is None or code_time >= crew.started:
            crew = self._crews[environment] = _Crew(environment)
            for _ in range(self._size):
                self._start(crew)
        self._recipes[recipe] = _Recipe(crew, body)
        self._end_unused()

    def forget(self, recipe: str) -> tuple[int, ...]:
        """Drop a recipe that no job reads any more; return its samples that no worker has."""
        known = self._recipes.pop(recipe, None)
        if known is None:
            return ()
        gone = tuple(order.sample for order in known.crew.queue if order.recipe == recipe)
        known.crew.queue = deque(o for o in known.crew.queue if o.recipe != recipe)
        asyncio.get_running_loop().call_later(GRACE_S, self._kill_if_stuck, known.crew, recipe)
        self._end_unused()
        return gone

    def drop(self, sample: int) -> None:
        """Tell the worker that has a sample for which there is no room to forget it."""
        self.put_at(PutAt(sample, -1, 0))
        for crew in self._all:
            for worker in crew.workers:
                worker.busy.pop(sample, None)

    def _kill_if_stuck(self, crew: _Crew, recipe: str) -> None:
        """Kill workers that still prepare rows of a recipe that nobody reads: others wait."""
        if recipe not in self._recipes:
            for worker in crew.workers:
                if any(order.recipe == recipe for order in worker.busy.values()):
                    worker.process.kill()

    def _end_unused(self) -> None:
        """End crews that newer code has replaced, once no recipe needs them."""
        used = [recipe.crew for recipe in self._recipes.values()] + list(self._crews.values())
        for crew in [c for c in self._all if not any(c is other for other in used)]:
            self._all.remove(crew)
            for worker in crew.workers:
                worker.send(Stop())
                self._leaving.append(worker.process)
        self._leaving = [process for process in self._leaving if process.poll() is None]

    def cook(self, order: Cook) -> None:
        """Have a row prepared."""
        crew = self._recipes[order.recipe].crew
        crew.queue.append(order)
        self.feed(crew)

    def put_at(self, order: PutAt) -> None:
        """Tell the worker that has the sample where to put it; if it is ending, `lost` follows."""
        for crew in self._all:
            for worker in crew.workers:
                if order.sample in worker.busy:
                    worker.send(order)

    def feed(self, crew: _Crew) -> None:
        """Hand out queued rows to the workers with the fewest in hand."""
        ready = [worker for worker in crew.workers if worker.transport is not None]
        limit = AHEAD * self._threads
        while crew.queue and ready:
            worker = min(ready, key=lambda worker: len(worker.busy))
            if len(worker.busy) >= limit:
                return
            order = crew.queue.popleft()
            if order.recipe not in worker.knows:
                worker.knows.add(order.recipe)
                worker.send(RecipeBody(order.recipe, self._recipes[order.recipe].body))
            worker.busy[order.sample] = order
            worker.send(order)

    def lost(self, handle: _Handle) -> None:
        """Replace a worker that died, and say which samples went with it."""
        handle.transport = None
        handle.crew.workers.remove(handle)
        if self._closing:
            return
        code = handle.process.wait()
        if handle.crew in self._all:
            self._start(handle.crew)
        if handle.busy:
            how = f"signal {-code}" if code < 0 else f"exit code {code}"
            self._on_lost(tuple(handle.busy), f"the worker that prepared it died ({how})")

    async def close(self) -> None:
        """End all workers: ask, then kill."""
        self._closing = True
        processes = self._leaving
        for crew in self._all:
            for worker in list(crew.workers):
                worker.send(Stop())
                processes.append(worker.process)
        for process in processes:
            for _ in range(20):
                if process.poll() is not None:
                    break
                await asyncio.sleep(0.05)
            else:
                process.kill()
                process.wait()

    def _start(self, crew: _Crew) -> None:
        if crew not in self._all:
            self._all.append(crew)
        ours, theirs = socket.socketpair()
        arena = self._arena.writable_descriptor()
        command = [crew.environment.interpreter, "-m", "joader.workers.loop"]
        command += [f"--socket={theirs.fileno()}", f"--arena={arena}"]
        command += [f"--arena-bytes={self._arena.size_bytes}", f"--threads={self._threads}"]
        variables = {f"{name}_NUM_THREADS": "1" for name in _ONE_THREAD}
        try:
            process = subprocess.Popen(
                command,
                pass_fds=(theirs.fileno(), arena),
                stdin=subprocess.DEVNULL,
                cwd=crew.environment.folder,
                env={
                    **os.environ,
                    **variables,
                    "PYTHONPATH": os.pathsep.join(crew.environment.path),
                },
            )
        finally:
            theirs.close()
            os.close(arena)
        handle = _Handle(self, crew, process)
        crew.workers.append(handle)
        ours.setblocking(False)
        connect = asyncio.get_running_loop().create_connection(lambda: handle, sock=ours)
        task = asyncio.ensure_future(connect)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
