"""Which job asks for samples next: always the one that would run dry first."""

from collections.abc import Iterable
from heapq import heapify, heappop, heapreplace
from typing import Generic, TypeVar

T = TypeVar("T")

# How many samples a job asks for per turn: fewer at a time cost more each.
TURN = 32


class Turns(Generic[T]):
    """The jobs that may ask, by how many seconds their samples will last."""

    def __init__(self, waiting: Iterable[tuple[float, T]]) -> None:
        """Start with these; of two that would run dry together, the first given comes first."""
        self._queue = [(lasts_s, number, one) for number, (lasts_s, one) in enumerate(waiting)]
        heapify(self._queue)

    def __bool__(self) -> bool:
        """Tell whether any are left."""
        return bool(self._queue)

    @property
    def next(self) -> T:
        """Return the one that has the turn."""
        return self._queue[0][2]

    @property
    def only_one(self) -> bool:
        """Whether no other waits for a turn."""
        return len(self._queue) == 1

    def again(self, lasts_s: float) -> None:
        """Let the one that had the turn wait for another."""
        _, number, one = self._queue[0]
        heapreplace(self._queue, (lasts_s, number, one))

    def leave(self) -> None:
        """Remove the one that had the turn: it has all it may have, or there is no room."""
        heappop(self._queue)
