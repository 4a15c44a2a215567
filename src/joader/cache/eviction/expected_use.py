"""Expected use: the sample that will be asked for latest, as far as is known, leaves first.

*Unplanned* samples leave before all planned ones, least valuable first; the value is the rate at
which they will be asked for, the sum of rate_j over the jobs j that need them, with rate_j =
speed_j / |unread_j|. They are kept in one group per need mask. *Planned* samples, whose next use
is known, leave in the order of their use, farthest first. Older residents win ties: of equals the
one admitted last leaves. A job without a known rate counts 1; with no rates and no plans this is
`RefCount`.
Cost: O(log n), and O(number of distinct need masks) for a victim.

Ranks are updated only when something has to leave, for all samples that changed since: while there
is room for everything, a sample that is pinned, read and released a thousand times costs no
ranking.
"""

from collections.abc import Iterable, Iterator
from heapq import merge
from math import isfinite

from joader.cache.eviction.policy import DEFAULT_RATE, Policy
from joader.cache.eviction.ranking import Ranking
from joader.errors import BadArgument

_PLANNED = -1  # not a need mask: those are 0 or more


class ExpectedUse(Policy):
    """Lowest rate of expected requests first; known next uses last, the farthest first."""

    def __init__(self) -> None:
        """Start empty, with no rates and no plans."""
        self._rates: dict[int, float] = {}  # by the job's bit
        self._plans: dict[int, float] = {}  # also of samples that are absent or pinned
        self._needs: dict[int, int] = {}
        self._admitted: dict[int, int] = {}
        self._changed: set[int] = set()  # since ranks were last updated
        self._ranked: dict[int, int] = {}  # the group each sample is in: need mask, or _PLANNED
        self._planned: Ranking[tuple[float, int]] = Ranking()
        self._groups: dict[int, Ranking[int]] = {}  # unplanned, by need mask; no empty group
        self._masks: dict[float, set[int]] | None = {}  # of the groups, by value; None: outdated

    def add(self, sample: int, needs: int, admitted: int) -> None:
        """Rank a sample by its plan, or else by its needs."""
        self._needs[sample] = needs
        self._admitted[sample] = admitted
        self._changed.add(sample)

    def discard(self, sample: int) -> None:
        """Take a sample out; its plan stays."""
        del self._needs[sample], self._admitted[sample]
        if sample in self._ranked:
            self._changed.add(sample)
        else:
            self._changed.remove(sample)  # it came and went between two evictions: nothing to undo

    def change(self, sample: int, needs: int) -> None:
        """Rank a sample again."""
        self._needs[sample] = needs
        self._changed.add(sample)

    def add_each(self, samples: list[int], needs: list[int], admitted: list[int]) -> None:
        """Rank samples by their plans, or else by their needs."""
        self._needs.update(zip(samples, needs, strict=True))
        self._admitted.update(zip(samples, admitted, strict=True))
        self._changed.update(samples)

    def discard_each(self, samples: list[int]) -> None:
        """Take samples out; their plans stay."""
        needs, admitted, ranked = self._needs, self._admitted, self._ranked
        for sample in samples:
            del needs[sample], admitted[sample]
        self._changed.update(samples)
        self._changed.difference_update([sample for sample in samples if sample not in ranked])

    def change_each(self, samples: list[int], needs: list[int]) -> None:
        """Rank samples again."""
        self._needs.update(zip(samples, needs, strict=True))
        self._changed.update(samples)

    def rate(self, number: int, value: float) -> None:
        """Set speed / |unread| of the job with this number: its demand for any one sample."""
        if not (isfinite(value) and value >= 0):
            raise BadArgument(
                f"rate {value} of job number {number} is not valid; give a finite number >= 0"
            )
        bit = 1 << number
        if self._rates.get(bit, DEFAULT_RATE) != value:
            self._rates[bit] = value
            self._masks = None

    def plan(self, sample: int, when: float) -> None:
        """Set the next use of a sample, in any unit that is the same for all samples."""
        self.plan_each((sample,), when)

    def unplan(self, sample: int) -> None:
        """Forget the next use of a sample, if one is known."""
        self.unplan_each((sample,))

    def plan_each(self, samples: Iterable[int], when: float) -> None:
        """Set the next use of samples."""
        if not isfinite(when):
            raise BadArgument(f"samples cannot be planned for {when}; give a finite number")
        self._plans.update(dict.fromkeys(samples, when))
        self._changed.update(self._needs.keys() & samples)

    def unplan_each(self, samples: Iterable[int]) -> None:
        """Forget the next use of samples, if one is known."""
        known = self._plans.keys() & samples
        for sample in known:
            del self._plans[sample]
        self._changed.update(self._needs.keys() & known)

    def victim(self) -> int:
        """Return the unplanned sample of the least value, or the planned one used latest."""
        self._rank()
        if not self._groups:
            return self._planned.first()
        masks = self._masks_by_value()
        equals = [self._groups[needs] for needs in masks[min(masks)]]
        return min(equals, key=Ranking.first_key).first()

    def worth_no_more(self, sample: int, than: int) -> bool:
        """Return whether a sample is unplanned and of no higher rate than another."""
        if sample in self._plans or than in self._plans:
            return False
        needs, others = self._needs[sample], self._needs[than]
        return needs == others or self._value(needs) <= self._value(others)

    def order(self) -> Iterator[int]:
        """Iterate over the unplanned samples by value, then the planned ones."""
        self._rank()
        masks = self._masks_by_value()
        for value in sorted(masks):
            equals = [self._groups[needs].order() for needs in masks[value]]
            yield from merge(*equals, key=self._newest_first)
        yield from self._planned.order()

    def _newest_first(self, sample: int) -> int:
        return -self._admitted[sample]

    def _value(self, needs: int) -> float:
        """Sum the rates of the jobs in a need mask, always in the order of their numbers.

        Floats do not add up to the same in another order, and equal masks must have equal values.
        """
        value = 0.0
        while needs:
            bit = needs & -needs
            value += self._rates.get(bit, DEFAULT_RATE)
            needs ^= bit
        return value

    def _masks_by_value(self) -> dict[float, set[int]]:
        if self._masks is None:
            self._masks = {}
            for needs in self._groups:
                self._masks.setdefault(self._value(needs), set()).add(needs)
        return self._masks

    def _rank(self) -> None:
        """Update the ranks of all samples that changed."""
        for sample in self._changed:
            before = self._ranked.pop(sample, None)
            needs = self._needs.get(sample)
            after = _PLANNED if needs is not None and sample in self._plans else needs
            if before is not None and before != after:
                self._remove(sample, before)
            # Also in the same group: its plan may be another, and `put` replaces the key.
            if after is not None:
                self._ranked[sample] = after
                self._insert(sample, after)
        self._changed.clear()

    def _insert(self, sample: int, where: int) -> None:
        """Give a sample its key among the planned, or in the group of its needs."""
        admitted = self._admitted[sample]
        if where == _PLANNED:
            self._planned.put(sample, (-self._plans[sample], -admitted))
            return
        group = self._groups.get(where)
        if group is None:
            self._groups[where] = group = Ranking()
            if self._masks is not None:
                self._masks.setdefault(self._value(where), set()).add(where)
        group.put(sample, -admitted)

    def _remove(self, sample: int, where: int) -> None:
        if where == _PLANNED:
            self._planned.remove(sample)
            return
        group = self._groups[where]
        group.remove(sample)
        if group:
            return
        del self._groups[where]
        if self._masks is not None:
            value = self._value(where)
            equals = self._masks[value]
            equals.remove(where)
            if not equals:
                del self._masks[value]
