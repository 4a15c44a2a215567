"""Least recently used: the sample whose last pin ended longest ago leaves first."""

from collections import OrderedDict
from collections.abc import Iterator

from joader.cache.eviction.policy import Policy, nobody


class Lru(Policy):
    """Least recently used first."""

    def __init__(self) -> None:
        """Start empty."""
        # Not a dict: taking from its front walks over the entries of all that left before.
        self._samples: OrderedDict[int, None] = OrderedDict()

    def add(self, sample: int, needs: int, admitted: int) -> None:
        """Put a sample behind all others."""
        self._samples[sample] = None

    def discard(self, sample: int) -> None:
        """Take a sample out."""
        del self._samples[sample]

    def victim(self) -> int:
        """Return the sample used longest ago."""
        for sample in self._samples:
            return sample
        raise nobody()

    def order(self) -> Iterator[int]:
        """Iterate over the samples by last use."""
        return iter(self._samples)
