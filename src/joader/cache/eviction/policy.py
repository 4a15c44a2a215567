"""The interface of all policies.

A policy sees only *evictable* samples: present, pinned by nobody, not in preparation. It knows no
sizes and no jobs other than as bits of need masks. Only the cache calls it, with `add` and
`discard` of a sample in turn, so that a policy checks nothing. The same calls give the same order
on any machine.
"""

from collections.abc import Iterable, Iterator
from typing import Protocol

from joader.errors import OurError

# What a job counts in ExpectedUse before its rate is told.
DEFAULT_RATE = 1.0


class Policy(Protocol):
    """Say who leaves first."""

    def add(self, sample: int, needs: int, admitted: int) -> None:
        """Note that a sample became evictable: newly consumed, or its last pin is gone.

        `needs` is the bit mask of the jobs that will still ask for it. `admitted` numbers the
        admissions to the cache: the later, the larger; pinning and unpinning do not change it.
        """
        ...

    def discard(self, sample: int) -> None:
        """Note that a sample is evictable no longer: pinned again, or gone."""
        ...

    def victim(self) -> int:
        """Return who leaves first, and leave it where it is; OurError where nobody can."""
        ...

    def order(self) -> Iterator[int]:
        """Go through all evictable samples, first to leave first; call nothing else meanwhile."""
        ...

    def worth_no_more(self, sample: int, than: int) -> bool:
        """Tell whether a sample may leave as gladly as another; most policies rank them all."""
        return False

    def change(self, sample: int, needs: int) -> None:
        """Note that the needs of an evictable sample changed."""
        return None

    def rate(self, number: int, value: float) -> None:
        """Note speed / |unread| of the job with this number; most policies do not ask."""
        return None

    def plan(self, sample: int, when: float) -> None:
        """Note when a sample, here or not, will be asked for next; most policies do not ask."""
        return None

    def unplan(self, sample: int) -> None:
        """Note that no use of the sample is known any more."""
        return None

    # Many at once, for those that have a faster way.

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
    """Return the error of asking an empty policy for a victim."""
    return OurError("nothing is evictable, yet a victim was asked for; please report this")
