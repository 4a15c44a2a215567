"""The paper's RefCnt (3.2, E.3): the sample that the fewest jobs still need leaves first."""

from joader.cache.eviction.buckets import Buckets
from joader.cache.eviction.policy import Known


class RefCount(Buckets):
    """Fewest needs first, then last admitted first."""

    def __init__(self, known: Known) -> None:
        """Start empty."""
        super().__init__(known, _needs)


def _needs(known: Known, samples: list[int]) -> list[int]:
    counts: list[int] = known.demand.counts(known.table.home.all[samples]).tolist()
    return counts
