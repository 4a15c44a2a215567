"""Expected use (DESIGN section 3): what will be asked for latest, as far as known, leaves first.

*Unplanned* samples leave before all planned ones, least valuable first; the value is the rate at
which they will be asked for, the sum of rate_j over the jobs j that need them, with rate_j =
speed_j / |unread_j|. They are kept in one group per need mask. *Planned* samples, whose next use
is known, leave farthest use first. Residents win ties: of equals the one admitted last leaves. A
job whose rate was not told counts 1; with no rates and no plans this is `RefCount`.
Cost: O(log n), and O(number of distinct need masks) for a victim.
"""

from collections.abc import Iterator
from heapq import merge
from math import isfinite

from joader.cache.eviction.policy import DEFAULT_RATE, Policy
from joader.cache.eviction.ranking import Ranking
from joader.errors import BadArgument


class ExpectedUse(Policy):
    """Lowest rate of expected requests first; known next uses last, the farthest first."""

    def __init__(self) -> None:
        """Start empty, with no rates and no plans."""
        self._rates: dict[int, float] = {}  # by the job's bit
        self._plans: dict[int, float] = {}  # also of samples that are not here, or pinned
        self._needs: dict[int, int] = {}
        self._admitted: dict[int, int] = {}
        self._planned: Ranking[tuple[float, int]] = Ranking()
        self._groups: dict[int, Ranking[int]] = {}  # unplanned, by need mask; no empty group
        self._masks: dict[float, set[int]] | None = {}  # of the groups, by value; None: to be made

    def add(self, sample: int, needs: int, admitted: int) -> None:
        """Rank a sample by its plan, or else by its needs."""
        self._needs[sample] = needs
        self._admitted[sample] = admitted
        self._insert(sample)

    def discard(self, sample: int) -> None:
        """Take a sample out; its plan stays."""
        self._remove(sample)
        del self._needs[sample], self._admitted[sample]

    def change(self, sample: int, needs: int) -> None:
        """Rank a sample anew."""
        self._remove(sample)
        self._needs[sample] = needs
        self._insert(sample)

    def rate(self, number: int, value: float) -> None:
        """Set speed / |unread| of the job with this number: its demand for any one sample."""
        if not (isfinite(value) and value >= 0):
            raise BadArgument(
                f"a rate of {value} for job number {number}; rates are finite and >= 0"
            )
        bit = 1 << number
        if self._rates.get(bit, DEFAULT_RATE) != value:
            self._rates[bit] = value
            self._masks = None

    def plan(self, sample: int, when: float) -> None:
        """Set the next use of a sample, in any unit as long as it is the same for all."""
        if not isfinite(when):
            raise BadArgument(f"a use of sample {sample} planned for {when}; give a finite number")
        self._move(sample, when)

    def unplan(self, sample: int) -> None:
        """Forget the next use of a sample, if one is known."""
        if sample in self._plans:
            self._move(sample, None)

    def victim(self) -> int:
        """Return the unplanned sample of the least value, or the planned one used latest."""
        if not self._groups:
            return self._planned.first()
        masks = self._masks_by_value()
        equals = [self._groups[needs] for needs in masks[min(masks)]]
        return min(equals, key=Ranking.first_key).first()

    def worth_no_more(self, sample: int, than: int) -> bool:
        """Tell whether a sample is unplanned and of no higher rate than another."""
        if sample in self._plans or than in self._plans:
            return False
        needs, others = self._needs[sample], self._needs[than]
        return needs == others or self._value(needs) <= self._value(others)

    def order(self) -> Iterator[int]:
        """Go through the unplanned samples by value, then the planned ones."""
        masks = self._masks_by_value()
        for value in sorted(masks):
            equals = [self._groups[needs].order() for needs in masks[value]]
            yield from merge(*equals, key=self._newest_first)
        yield from self._planned.order()

    def _newest_first(self, sample: int) -> int:
        return -self._admitted[sample]

    def _value(self, needs: int) -> float:
        """Sum the rates of the jobs in a need mask, always in the order of their numbers."""
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

    def _move(self, sample: int, when: float | None) -> None:
        present = sample in self._needs
        if present:
            self._remove(sample)
        if when is None:
            del self._plans[sample]
        else:
            self._plans[sample] = when
        if present:
            self._insert(sample)

    def _insert(self, sample: int) -> None:
        admitted = self._admitted[sample]
        when = self._plans.get(sample)
        if when is not None:
            self._planned.put(sample, (-when, -admitted))
            return
        needs = self._needs[sample]
        group = self._groups.get(needs)
        if group is None:
            self._groups[needs] = group = Ranking()
            if self._masks is not None:
                self._masks.setdefault(self._value(needs), set()).add(needs)
        group.put(sample, -admitted)

    def _remove(self, sample: int) -> None:
        if sample in self._plans:
            self._planned.remove(sample)
            return
        needs = self._needs[sample]
        group = self._groups[needs]
        group.remove(sample)
        if group:
            return
        del self._groups[needs]
        if self._masks is not None:
            value = self._value(needs)
            equals = self._masks[value]
            equals.remove(needs)
            if not equals:
                del self._masks[value]
