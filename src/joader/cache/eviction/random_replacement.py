"""Random replacement: every sample is equally likely to leave.

Draws are integers from the raw bits of a bit generator, rejected above the bound: exactly uniform,
and the same on any machine. Victims stay chosen until a sample comes or goes, so asking twice gives
the same answer.
"""

from collections.abc import Sequence

from joader.cache.eviction.policy import Known, Policy
from joader.sampling.bits import Bits
from joader.sampling.sampler import checked_seed


class RandomReplacement(Policy):
    """A uniformly random sample first."""

    def __init__(self, known: Known, seed: int = 0) -> None:
        """Start empty; the seed fixes all draws."""
        self._bits = Bits("random replacement", checked_seed(seed))
        self._samples: list[int] = []
        self._place: dict[int, int] = {}  # of each sample in the list
        self._chosen: list[int] = []  # while nothing changes

    def add_each(self, samples: Sequence[int]) -> None:
        """Let samples take part."""
        for sample in samples:
            self._place[sample] = len(self._samples)
            self._samples.append(sample)
        self._chosen = []

    def discard_each(self, samples: Sequence[int]) -> None:
        """Take samples out; the last one fills the place of each."""
        for sample in samples:
            self._move(sample, len(self._samples) - 1)
            self._samples.pop()
            del self._place[sample]
        self._chosen = []

    def victims(self, count: int) -> list[int]:
        """Return random samples, the same ones until something changes."""
        # The first of a Fisher-Yates shuffle: those that are chosen already stay in front.
        for place in range(len(self._chosen), min(count, len(self._samples))):
            sample = self._samples[place + self._bits.below(len(self._samples) - place)]
            self._move(sample, place)
            self._chosen.append(sample)
        return self._chosen[:count]

    def _move(self, sample: int, place: int) -> None:
        """Let a sample change places with another."""
        other, before = self._samples[place], self._place[sample]
        self._samples[before], self._samples[place] = other, sample
        self._place[other], self._place[sample] = before, place
