"""A storage: each read takes its latency, then its bytes; so many are served at a time."""

from collections import deque
from collections.abc import Callable

from joader.simulator.machine.clock import Clock
from joader.simulator.machine.resource import Resource
from joader.simulator.machine.workload import Storage


class Disk:
    """One storage, behind the links of all nodes."""

    def __init__(self, clock: Clock, storage: Storage) -> None:
        """Start with nothing read."""
        self._clock, self._storage = clock, storage
        self._bytes = Resource(clock, lambda users: storage.mb_per_s / users)
        self._serving = 0
        self._waiting: deque[tuple[float, Resource, Callable[[], None]]] = deque()

    def read(self, megabytes: float, link: Resource, done: Callable[[], None]) -> None:
        """Read so much over a node's link, and call `done` then."""
        if self._serving >= self._storage.most:
            self._waiting.append((megabytes, link, done))
            return
        self._serving += 1

        def arrived() -> None:
            self._serving -= 1
            if self._waiting:
                self.read(*self._waiting.popleft())
            done()

        def served() -> None:
            link.use(megabytes, arrived)

        def found() -> None:
            self._bytes.use(megabytes, served)

        self._clock.after(self._storage.latency_s(self._serving, self._clock.now), found)
