"""Samples ranked by what it costs to lose them, in whole numbers: the lowest rank leaves first.

A policy of this kind is a function from samples to ranks (`RefCount`, `ExpectedUse`). Of equals the
one admitted last leaves, so ties never churn older residents: with one job and room for C of N
samples, the newcomers go through a single slot and C or C - 1 residents are hit in every later
epoch.

Samples are ranked only when one has to leave: then all that have changed since, of all sizes, at
once. So while there is room, a sample that is pinned and released a thousand times is not ranked. A
rank may be outdated because jobs go on; samples about to leave are checked once more.

One heap has a *key* for each sample: rank, admission, number. Those that come first are taken off
it once, into `_front`, and stay there until they leave. A key that is not its sample's any more is
skipped when it comes up.
"""

from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush

from joader.cache.eviction.policy import Known, Policy

# Outdated keys allowed beyond the number of valid ones, so that the heap is rarely rebuilt.
_SLACK = 64
# How often those about to leave are ranked again before they leave all the same.
_LOOKS = 8
# How many are ranked again together then.
_AROUND = 128
# How many candidates are checked at a time, and how many evictions pass before the next check: a
# check is expensive, and ranks change slowly.
_AHEAD = 16
_LASTS = 32
_EMPTY = 1 << 62  # more than any rank, also of samples whose next use is known
# A key is a rank, an admission (counted down if the newest comes first) and a sample's number.
_NUMBER_BITS = 32
_RANK_SHIFT = 96
_NUMBER = (1 << _NUMBER_BITS) - 1
_LAST_ADMISSION = (1 << _RANK_SHIFT - _NUMBER_BITS) - 1


class Buckets(Policy):
    """Ranks of samples, smallest first."""

    def __init__(
        self,
        known: Known,
        ranks: Callable[[Known, list[int]], list[int]],
        oldest_first: bool = False,
    ) -> None:
        """Start empty; `ranks` says what it costs to lose each of these samples, 0 or more."""
        self._known, self._ranks = known, ranks
        self._unranked = known.unranked
        self._oldest_first = oldest_first
        self._key: dict[int, int] = {}  # by sample
        self._heap: list[int] = []
        self._front: list[int] = []  # off the heap, least first
        self._up_to_date: set[int] = set()  # looked at, or ranked, a short while ago
        self._calls = 0

    def add_each(self, samples: Sequence[int]) -> None:
        """Note that samples could leave from now on."""
        self._unranked.update(dict.fromkeys(samples, self))

    def discard_each(self, samples: Sequence[int]) -> None:
        """Note that samples cannot leave any more."""
        unranked, keys = self._unranked, self._key
        for sample in samples:
            if keys.pop(sample, None) is None:
                del unranked[sample]

    def change_each(self, samples: Sequence[int]) -> None:
        """Rank samples again when a sample has to leave."""
        keys = self._key
        for sample in samples:
            if keys.pop(sample, None) is not None:
                self._unranked[sample] = self

    def rank(self) -> int:
        """Return the least rank of all."""
        self._rank_new()
        first = self._first(1)
        return self._key[first[0]] >> _RANK_SHIFT if first else _EMPTY

    def rank_of(self, sample: int) -> int:
        """Return the rank of any sample."""
        return self._ranks(self._known, [sample])[0]

    def victims(self, count: int) -> list[int]:
        """Return the samples of the least rank."""
        self._calls += 1
        if self._calls % _LASTS == 0:
            self._up_to_date.clear()
        self._rank_new()
        for _ in range(_LOOKS):
            first = self._first(count)
            if self._up_to_date.issuperset(first):
                break
            if not self._outdated(self._first(max(count, _AHEAD))):
                break
            # If one is outdated, so are most of its neighbors.
            self._outdated(self._first(_AROUND))
            self._rank_new()
        return first

    def set_ranks(self, samples: Sequence[int], ranks: Sequence[int]) -> None:
        """Take in the ranks of samples that waited for one."""
        admitted, keys, heap = self._known.table.admitted.cells, self._key, self._heap
        for sample, rank in zip(samples, ranks, strict=True):
            turn = admitted[sample]
            if not self._oldest_first:
                turn = _LAST_ADMISSION - turn
            key = keys[sample] = rank << _RANK_SHIFT | turn << _NUMBER_BITS | sample
            heappush(heap, key)
        self._up_to_date.update(samples)
        if len(heap) + len(self._front) > 2 * len(keys) + _SLACK:
            heap[:] = keys.values()
            heapify(heap)
            self._front = []

    def _outdated(self, samples: list[int]) -> bool:
        """Rank samples again whose rank has changed; tell whether there are any."""
        samples = [sample for sample in samples if sample not in self._up_to_date]
        if not samples:
            return False
        ranks, keys = self._ranks(self._known, samples), self._key
        self._up_to_date.update(samples)
        changed = [
            sample
            for sample, rank in zip(samples, ranks, strict=True)
            if rank != keys[sample] >> _RANK_SHIFT
        ]
        self.change_each(changed)
        return bool(changed)

    def _first(self, count: int) -> list[int]:
        """Return the first of all."""
        front, heap, keys = self._front, self._heap, self._key
        first: list[int] = []
        at, last = 0, -1
        while len(first) < count:
            # A key that came later may belong before those in front.
            if at < len(front) and (not heap or front[at] <= heap[0]):
                key = front[at]
                at += 1
            elif heap:
                key = heappop(heap)
            else:
                break
            # The key of a sample that was pinned and let go may be here twice.
            if key != last and keys.get(key & _NUMBER) == key:
                first.append(key)
                last = key
        self._front = first + front[at:]
        return [key & _NUMBER for key in first]

    def _rank_new(self) -> None:
        """Rank those that have no rank, of all sizes."""
        if not self._unranked:
            return
        samples = list(self._unranked)
        ranks = self._ranks(self._known, samples)
        each: dict[Policy, tuple[list[int], list[int]]] = {}
        for sample, rank, whose in zip(samples, ranks, self._unranked.values(), strict=True):
            its_samples, its_ranks = each.setdefault(whose, ([], []))
            its_samples.append(sample)
            its_ranks.append(rank)
        self._unranked.clear()
        for policy, (its_samples, its_ranks) in each.items():
            policy.set_ranks(its_samples, its_ranks)
