"""Who asks for samples next: always whoever would run dry first."""

from collections.abc import Iterable
from heapq import heapify, heappop, heapreplace
from typing import Generic, TypeVar

T = TypeVar("T")

# How many samples one asks for before it is another's turn: few at a time cost more each.
TURN = 32


class Turns(Generic[T]):
    """Those who may ask, by how many seconds what they have will last."""

    def __init__(self, waiting: Iterable[tuple[float, T]]) -> None:
        """Start with these; of two that would run dry together, the first here comes first."""
        self._queue = [(lasts_s, number, one) for number, (lasts_s, one) in enumerate(waiting)]
        heapify(self._queue)

    def __bool__(self) -> bool:
        """Tell whether anybody is left."""
        return bool(self._queue)

    @property
    def next(self) -> T:
        """Whose turn it is."""
        return self._queue[0][2]

    @property
    def only_one(self) -> bool:
        """Whether nobody else waits for a turn."""
        return len(self._queue) == 1

    def again(self, lasts_s: float) -> None:
        """Let the one whose turn it was wait for another."""
        _, number, one = self._queue[0]
        heapreplace(self._queue, (lasts_s, number, one))

    def leave(self) -> None:
        """Let the one whose turn it was go: it has all it may have, or there is no room."""
        heappop(self._queue)
