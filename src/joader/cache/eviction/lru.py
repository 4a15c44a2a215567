"""Least recently used: the sample whose last pin ended longest ago leaves first."""

from collections import OrderedDict
from collections.abc import Sequence
from itertools import islice

from joader.cache.eviction.policy import Known, Policy


class Lru(Policy):
    """Least recently used first."""

    def __init__(self, known: Known) -> None:
        """Start empty."""
        # Not a dict: taking from its front walks over the entries of all that left before.
        self._samples: OrderedDict[int, None] = OrderedDict()

    def add_each(self, samples: Sequence[int]) -> None:
        """Put samples behind all others."""
        self._samples.update(dict.fromkeys(samples))

    def discard_each(self, samples: Sequence[int]) -> None:
        """Take samples out."""
        for sample in samples:
            del self._samples[sample]

    def victims(self, count: int) -> list[int]:
        """Return the samples used longest ago."""
        return list(islice(self._samples, count))
