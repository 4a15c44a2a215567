"""The pool: which crew of workers prepares what, by the environment of the job it comes from.

Jobs whose interpreter, import path or folder differ get workers of their own. A worker that dies
costs its rows one try. Owner of crews and of the code that travels to workers: this class.
Not here: what one crew does with its rows (crew.py).
"""

import asyncio
import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from joader.errors import WorldError
from joader.memory import Arena
from joader.messages import Cook, Cooked, CookedEach, Environment, Finish, PutAt, Spoiled
from joader.workers.crew import Crew
from joader.workers.hand import Hand, Order, Report, code_of

# How long a row of a job that is gone may go on before its worker is replaced.
GRACE_S = 2.0
_END_S = 1.0
# Workers that no job uses are kept for so long: the next job finds them warm.
KEEP_S = 60.0
# How often workers are looked at: for what takes too long, and for what they keep in memory.
WATCH_S = 0.5

log = logging.getLogger("joader.daemon")


@dataclass
class _Code:
    """A recipe's dataset, or a job's own part, as it travels, and who runs it."""

    crew: Crew
    body: bytes


class Pool:
    """All worker processes of the daemon."""

    def __init__(
        self,
        arena: Arena,
        size: int,
        threads: int,
        on_report: Callable[[Report | CookedEach], None],
        on_lost: Callable[[tuple[int, ...], str, bool], None],
        limit_of: Callable[[str | int], float],
        has_neighbours: Callable[[str | int], bool],
        worker_growth_bytes: int = 0,
    ) -> None:
        """Start nothing yet: `size` workers come with the first code of an environment.

        `limit_of` says how many seconds a row of a recipe, or an own part of a job, may take, and
        `has_neighbours` whether there are jobs that run none of this code.
        A worker that grows by more than `worker_growth_bytes` is replaced; 0: see `usual_growth`.
        """
        self._arena = arena
        self._size = size
        self._threads = threads
        self._on_report = on_report
        self._on_lost = on_lost
        self._closing = False
        self._limit_of = limit_of
        self._has_neighbours = has_neighbours
        self._growth_bytes = worker_growth_bytes or usual_growth(size)
        self._watching: asyncio.TimerHandle | None = None
        self._code: dict[str | int, _Code] = {}  # by recipe, or by job
        self._newest: dict[Environment, Crew] = {}
        self._crews: list[Crew] = []
        self._leaving: list[Hand] = []  # told to end, to be waited for

    @property
    def workers(self) -> int:
        """How many worker processes there are."""
        return sum(len(crew.hands) for crew in self._crews)

    def knows(self, recipe: str) -> bool:
        """Tell whether the code of the recipe is here."""
        return recipe in self._code

    def learn(
        self, name: str | int, environment: Environment, body: bytes, code_time: float
    ) -> None:
        """Keep the code of a recipe or a job; what is newer than its workers gets new ones."""
        crew = self._newest.get(environment)
        if crew is None or code_time >= crew.started:
            crew = self._new_crew(environment, self._size)
            self._newest[environment] = crew
        self._code[name] = _Code(crew, body)
        self._end_unused()

    def _new_crew(self, environment: Environment, size: int) -> Crew:
        crew = Crew(
            environment,
            self._arena,
            size,
            self._threads,
            lambda name: self._code[name].body,
            self._reported,
            self._lost,
            self._limit_of,
            self._isolated,
            self._taken_back,
            self._growth_bytes,
        )
        try:
            for _ in range(size):
                crew.start()
        except WorldError:
            self._leaving += crew.end()
            raise
        self._crews.append(crew)
        if self._watching is None:
            self._watch()
        return crew

    def _isolated(self, crew: Crew, name: str | int) -> bool:
        """Tell whether code that holds others up runs elsewhere now; see to it if it can be."""
        code = self._code.get(name)
        if code is not None and code.crew is crew and self._has_neighbours(name):
            try:
                code.crew = self._new_crew(crew.environment, self._size)
            except WorldError as error:
                log.error("%s", error)
                return False
            log.warning("a dataset or step is slow or crashes; it gets workers of its own")
            self._taken_back(crew.give_away(lambda order: code_of(order) == name))
        return code is None or code.crew is not crew

    def _taken_back(self, orders: list[Order]) -> None:
        """Let others do what workers have not begun, if it is still read."""
        unread = tuple(order.sample for order in orders if self._crew_of(order) is None)
        if unread:
            self._lost(unread, "nobody reads it any more", blamed=False)
        for crew in self._crews:
            crew.take_back([o for o in orders if self._crew_of(o) is crew])
        self.feed()

    def _crew_of(self, order: Order) -> Crew | None:
        code = self._code.get(code_of(order))
        return code.crew if code else None

    def forget(self, name: str | int) -> tuple[int, ...]:
        """Drop the code of a recipe that no job reads any more, or of a job that is gone.

        Return its samples that no worker has. Workers that are stuck with others are killed.
        """
        known = self._code.pop(name, None)
        if known is None:
            return ()

        def belongs(order: Order) -> bool:
            return code_of(order) == name

        def kill_stuck() -> None:
            if name not in self._code:
                for crew in {id(crew): crew for crew in [*self._crews, known.crew]}.values():
                    crew.kill_stuck(belongs)

        gone = [sample for crew in self._crews for sample in crew.forget(name, belongs)]
        asyncio.get_running_loop().call_later(GRACE_S, kill_stuck)
        asyncio.get_running_loop().call_later(KEEP_S, self._dismiss, known.crew)
        self._end_unused()
        return tuple(gone)

    def cook(self, order: Cook) -> None:
        """Have a row prepared."""
        self._code[order.recipe].crew.cook(order)

    def finish(self, order: Finish) -> None:
        """Have a job's own part done."""
        self._code[order.job].crew.finish(order)

    def feed(self) -> None:
        """Hand out what has come."""
        for crew in self._crews:
            crew.feed()

    def put_at(self, order: PutAt) -> None:
        """Tell the worker that has the sample where to put it."""
        for crew in self._crews:
            crew.put_at(order)

    def drop(self, sample: int) -> None:
        """Tell the worker that has a sample for which there is no room to forget it."""
        self.put_at(PutAt(sample, -1, 0))
        for crew in self._crews:
            crew.drop(sample)

    def whereabouts(self, sample: int) -> str:
        """Say in words where a sample is."""
        found = (crew.whereabouts(sample) for crew in self._crews)
        return next((text for text in found if text), "is in no worker's hands")

    def acts_in_s(self, sample: int) -> float | None:
        """Return in how many seconds what a sample waits for is given up, if that takes long."""
        found = (crew.acts_in_s(sample) for crew in self._crews)
        return next((seconds for seconds in found if seconds is not None), None)

    async def close(self) -> None:
        """End all workers: ask, then kill."""
        self._closing = True
        if self._watching is not None:
            self._watching.cancel()
        hands = self._leaving
        for crew in self._crews:
            hands += crew.end()
        for hand in hands:
            for _ in range(20):
                if hand.process.poll() is not None:
                    break
                await asyncio.sleep(_END_S / 20)
            else:
                hand.kill()
                hand.process.wait()

    def _reported(self, message: Report | CookedEach, offsets: Sequence[int]) -> None:
        """Pass a report on, and let own parts that waited for it go on."""
        self._on_report(message)
        for crew in self._crews:
            if isinstance(message, Cooked):
                crew.ready(message.sample, offsets[0], message.layout)
            elif isinstance(message, CookedEach):
                if crew.holds_own_parts:
                    for sample, offset in zip(message.samples, offsets, strict=True):
                        crew.ready(sample, offset, message.layout)
            elif isinstance(message, Spoiled):
                crew.gone(message.sample)

    def _lost(self, samples: tuple[int, ...], reason: str, blamed: bool) -> None:
        if not self._closing:
            self._on_lost(samples, reason, blamed)

    def _dismiss(self, crew: Crew) -> None:
        """Keep a crew for its environment no longer, unless some code needs it."""
        if self._newest.get(crew.environment) is crew and all(
            code.crew is not crew for code in self._code.values()
        ):
            del self._newest[crew.environment]
            self._end_unused()

    def _end_unused(self) -> None:
        """End crews that newer code has replaced, once nobody needs them."""
        used = [code.crew for code in self._code.values()] + list(self._newest.values())
        for crew in [c for c in self._crews if not any(c is other for other in used)]:
            self._crews.remove(crew)
            self._leaving += crew.end()
        self._leaving = [hand for hand in self._leaving if hand.process.poll() is None]

    def _watch(self) -> None:
        """Look at all workers, now and again and again."""
        self._watching = asyncio.get_running_loop().call_later(WATCH_S, self._watch)
        for crew in self._crews:
            crew.watch()


def usual_growth(workers: int) -> int:
    """Return how much a worker may grow after its first rows: its share of half the memory."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return memory // 2 // workers
