"""The interface of all policies.

A policy sees only *evictable* samples: present, not pinned, not in preparation. It knows nothing of
sizes, and of jobs only their bits in need masks. Only the cache calls it, and calls `add` and
`discard` of a sample in turn, so a policy checks nothing. The same calls give the same order on any
machine.
"""

from collections.abc import Iterable, Iterator
from typing import Protocol

from joader.errors import OurError

# The weight of a job in ExpectedUse until its rate is known.
DEFAULT_RATE = 1.0


class Policy(Protocol):
    """Decide which sample leaves first."""

    def add(self, sample: int, needs: int, admitted: int) -> None:
        """Note that a sample became evictable: newly prepared, or its last pin is gone.

        `needs` is the bit mask of the jobs that will still ask for it. `admitted` numbers the
        admissions to the cache, in ascending order; pinning and unpinning do not change it.
        """
        ...

    def discard(self, sample: int) -> None:
        """Note that a sample is no longer evictable: pinned again, or gone."""
        ...

    def victim(self) -> int:
        """Return the sample to evict first, without removing it; OurError if there is none."""
        ...

    def order(self) -> Iterator[int]:
        """Iterate over the evictable samples, first to leave first; call nothing else meanwhile."""
        ...

    def worth_no_more(self, sample: int, than: int) -> bool:
        """Return True if evicting `sample` costs no more than evicting `than`.

        Policies with a total order return False.
        """
        return False

    def change(self, sample: int, needs: int) -> None:
        """Note that the needs of an evictable sample changed."""
        return None

    def rate(self, number: int, value: float) -> None:
        """Note speed / |unread| of the job with this number; most policies ignore it."""
        return None

    def plan(self, sample: int, when: float) -> None:
        """Note when a sample, present or absent, will next be asked for; most ignore it."""
        return None

    def unplan(self, sample: int) -> None:
        """Note that no use of the sample is known anymore."""
        return None

    # For many samples at once; a policy that has a faster way overrides these.

    def add_each(self, samples: list[int], needs: list[int], admitted: list[int]) -> None:
        """Do as `add` for each."""
        for sample, mask, number in zip(samples, needs, admitted, strict=True):
            self.add(sample, mask, number)

    def discard_each(self, samples: list[int]) -> None:
        """Do as `discard` for each."""
        for sample in samples:
            self.discard(sample)

    def change_each(self, samples: list[int], needs: list[int]) -> None:
        """Do as `change` for each."""
        for sample, mask in zip(samples, needs, strict=True):
            self.change(sample, mask)

    def plan_each(self, samples: Iterable[int], when: float) -> None:
        """Do as `plan` for each."""
        for sample in samples:
            self.plan(sample, when)

    def unplan_each(self, samples: Iterable[int]) -> None:
        """Do as `unplan` for each."""
        for sample in samples:
            self.unplan(sample)


def nobody() -> OurError:
    """Return the error for asking an empty policy for a victim."""
    return OurError("a victim was asked for, but nothing is evictable; please report this")
