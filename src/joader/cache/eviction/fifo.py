"""First in, first out: the sample admitted first leaves first, however often it is used."""

from joader.cache.eviction.buckets import Buckets
from joader.cache.eviction.policy import Known


class Fifo(Buckets):
    """First admitted first; pinning and unpinning do not move a sample."""

    def __init__(self, known: Known) -> None:
        """Start empty."""
        super().__init__(known, _none, oldest_first=True)


def _none(known: Known, samples: list[int]) -> list[int]:
    return [0] * len(samples)
