"""Virtual time: what is due, in order."""

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count


class Clock:
    """A queue of what will happen; of two things due at once, the first that was planned."""

    def __init__(self) -> None:
        """Start at 0 with nothing due."""
        self.now = 0.0
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count()

    def after(self, seconds: float, happen: Callable[[], None]) -> None:
        """Let something happen so many seconds from now."""
        heappush(self._due, (self.now + max(0.0, seconds), next(self._numbers), happen))

    def run(self, until: float, over: Callable[[], bool]) -> None:
        """Let time pass until nothing is due, this time has come, or it is over."""
        while self._due and self._due[0][0] <= until and not over():
            self.now, _, happen = heappop(self._due)
            happen()
