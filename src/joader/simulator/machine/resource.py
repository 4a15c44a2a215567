"""What several use at once, each at the same rate: processors, a disk, a GPU.

All who use it progress alike, so one sum, what each has been served since the beginning, tells when
whoever came with so much to do is done: it leaves when the sum has grown by that.
"""

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count

from joader.simulator.machine.clock import Clock


class Resource:
    """Served at `rate(n)` each while n use it."""

    def __init__(self, clock: Clock, rate: Callable[[int], float]) -> None:
        """Start unused."""
        self._clock, self._rate = clock, rate
        self._served, self._at = 0.0, clock.now
        self._users: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count()
        self._version = 0  # of the plan for who is done next

    @property
    def users(self) -> int:
        """How many use it now."""
        return len(self._users)

    def use(self, amount: float, done: Callable[[], None]) -> None:
        """Use it for so much, and call `done` then."""
        self._pass_time()
        heappush(self._users, (self._served + max(amount, 0.0), next(self._numbers), done))
        self._plan()

    def _pass_time(self) -> None:
        if self._users:
            self._served += self._rate(len(self._users)) * (self._clock.now - self._at)
        self._at = self._clock.now

    def _plan(self) -> None:
        self._version += 1
        if self._users:
            version, left = self._version, self._users[0][0] - self._served
            in_s = max(0.0, left) / self._rate(len(self._users))
            self._clock.after(in_s, lambda: self._ring(version))

    def _ring(self, version: int) -> None:
        if version != self._version:
            return  # somebody came or went meanwhile
        self._pass_time()
        # Whoever this was planned for is done, though what is left may be too little for the clock.
        self._served = max(self._served, self._users[0][0])
        finished = []
        while self._users and self._users[0][0] <= self._served:
            finished.append(heappop(self._users)[2])
        self._plan()
        for done in finished:
            done()
