"""First in, first out: the sample admitted first leaves first, however often it is used."""

from collections.abc import Iterator

from joader.cache.eviction.policy import Policy
from joader.cache.eviction.ranking import Ranking


class Fifo(Policy):
    """First admitted first; pinning and unpinning do not move a sample."""

    def __init__(self) -> None:
        """Start empty."""
        self._ranking: Ranking[int] = Ranking()

    def add(self, sample: int, needs: int, admitted: int) -> None:
        """Rank a sample by its admission."""
        self._ranking.put(sample, admitted)

    def discard(self, sample: int) -> None:
        """Take a sample out."""
        self._ranking.remove(sample)

    def victim(self) -> int:
        """Return the sample admitted first."""
        return self._ranking.first()

    def order(self) -> Iterator[int]:
        """Iterate over the samples by admission."""
        return self._ranking.order()
