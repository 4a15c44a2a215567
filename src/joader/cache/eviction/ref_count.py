"""The paper's RefCnt (3.2, E.3): the sample that the fewest jobs will still ask for leaves first.

Of equal counts the one admitted last leaves, so that ties never churn older residents: with one job
and room for C of N samples, the newcomers go through a single slot and C or C - 1 residents are
hit in every later epoch.
"""

from collections.abc import Iterator

from joader.cache.eviction.policy import Policy
from joader.cache.eviction.ranking import Ranking

# Keys are count * 2**48 - admitted; 2**48 admissions take nine years at a million per second.
COUNT_SHIFT = 48


class RefCount(Policy):
    """Fewest needs first, then last admitted first."""

    def __init__(self) -> None:
        """Start empty."""
        self._ranking: Ranking[int] = Ranking()
        self._admitted: dict[int, int] = {}

    def add(self, sample: int, needs: int, admitted: int) -> None:
        """Rank a sample by its needs."""
        self._admitted[sample] = admitted
        self._ranking.put(sample, (needs.bit_count() << COUNT_SHIFT) - admitted)

    def discard(self, sample: int) -> None:
        """Take a sample out."""
        del self._admitted[sample]
        self._ranking.remove(sample)

    def change(self, sample: int, needs: int) -> None:
        """Rank a sample again."""
        self._ranking.put(sample, (needs.bit_count() << COUNT_SHIFT) - self._admitted[sample])

    def victim(self) -> int:
        """Return the sample with the fewest needs."""
        return self._ranking.first()

    def order(self) -> Iterator[int]:
        """Iterate over the samples by number of needs."""
        return self._ranking.order()
