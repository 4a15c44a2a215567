"""A daemon in no cluster: where others ask their neighbors, it does everything itself."""

from collections.abc import Callable, Iterable

from joader.messages import Event, Place, Prepare
from joader.statistics import CacheStatistics, ClusterStatistics


class Alone:
    """No other nodes: all is done here."""

    async def leave(self) -> None:
        """Do nothing."""

    def hand_over(self, done: Callable[[], None]) -> None:
        """Hand over nothing."""
        done()

    def take(self, order: Prepare, code: str) -> Prepare | None:
        """Return all of it."""
        return order

    def place(self, message: Place) -> Place | None:
        """Return all of it."""
        return message

    def drop(self, samples: Iterable[int]) -> None:
        """Do nothing."""

    def flush(self) -> None:
        """Do nothing."""

    def reported_here(self, event: Event) -> None:
        """Do nothing."""

    def whereabouts(self, sample: int) -> str:
        """Say nothing."""
        return ""

    delivered = 0

    def statistics(self, memory: CacheStatistics) -> ClusterStatistics | None:
        """Return that there is none."""
        return None
