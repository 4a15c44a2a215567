"""Random replacement: every evictable sample is equally likely to leave.

Draws are integers from the raw bits of a bit generator, rejected above the bound: exactly uniform,
and the same on any machine. A victim stays chosen until a sample comes or goes, so asking twice
gives the same answer.
"""

from collections.abc import Iterator

from joader.cache.eviction.policy import Policy, nobody
from joader.sampling.bits import Bits
from joader.sampling.sampler import checked_seed


class RandomReplacement(Policy):
    """A uniformly random sample first."""

    def __init__(self, seed: int = 0) -> None:
        """Start empty; the seed fixes all draws."""
        self._bits = Bits("random replacement", checked_seed(seed))
        self._samples: list[int] = []
        self._place: dict[int, int] = {}  # of each sample in the list
        self._chosen: int | None = None  # place of the victim, while nothing changes

    def add(self, sample: int, needs: int, admitted: int) -> None:
        """Let a sample take part."""
        self._place[sample] = len(self._samples)
        self._samples.append(sample)
        self._chosen = None

    def discard(self, sample: int) -> None:
        """Take a sample out; the last one fills its place."""
        place = self._place.pop(sample)
        last = self._samples.pop()
        if last != sample:
            self._samples[place] = last
            self._place[last] = place
        self._chosen = None

    def victim(self) -> int:
        """Return a random sample, the same one until something changes."""
        if not self._samples:
            raise nobody()
        if self._chosen is None:
            self._chosen = self._bits.below(len(self._samples))
        return self._samples[self._chosen]

    def order(self) -> Iterator[int]:
        """Iterate over the samples in a random order that starts with the victim."""
        if not self._samples:
            return
        self.victim()
        place = self._chosen or 0
        moved: dict[int, int] = {}  # a Fisher-Yates shuffle that records only what it moved
        for last in range(len(self._samples) - 1, -1, -1):
            yield self._samples[moved.get(place, place)]
            moved[place] = moved.get(last, last)
            place = self._bits.below(last) if last else 0
