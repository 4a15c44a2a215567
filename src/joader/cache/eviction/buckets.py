"""Samples by what it costs to lose them, in whole numbers: those of the least leave first.

A policy of this kind is a function from samples to ranks (`RefCount`, `ExpectedUse`). Of equals the
one admitted last leaves, so that ties never churn older residents: with one job and room for C of N
samples, the newcomers go through a single slot and C or C - 1 residents are hit in every later
epoch.

Samples are ranked when something has to leave, all that have changed since at once: while there is
room, a sample that is pinned and let go a thousand times costs no ranking. A rank may be outdated,
as jobs go on; those about to leave are looked at once more. Cost: a few dictionary operations a
sample, and one comparison per rank in use.
"""

from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush

from joader.cache.eviction.policy import Known

# Outdated keys allowed beyond the number of valid ones, so that few heaps are rebuilt.
_SLACK = 64
# How often those about to leave are ranked anew before they leave all the same.
_LOOKS = 8
# How many are ranked anew together then.
_AROUND = 128
# How many are looked at for those that leave next, too, and how many times something leaves before
# they are looked at again: a look costs much, and ranks change slowly.
_AHEAD = 16
_LASTS = 32
_EMPTY = 1 << 62  # more than any rank, also of samples whose next use is known
_NUMBER_BITS = 32


class Buckets:
    """Ranks of samples, smallest first."""

    def __init__(
        self,
        known: Known,
        ranks: Callable[[Known, list[int]], list[int]],
        oldest_first: bool = False,
    ) -> None:
        """Start empty; `ranks` says what it costs to lose each of these samples."""
        self._known, self._ranks = known, ranks
        self._sign = 1 if oldest_first else -1
        self._unranked: dict[int, None] = {}
        self._rank: dict[int, int] = {}
        self._count: dict[int, int] = {}  # by rank; none is 0
        # By rank: newest admission first, each with its sample. Keys of samples that have gone, or
        # have another rank, are skipped when they come up.
        self._heaps: dict[int, list[int]] = {}
        self._up_to_date: set[int] = set()  # looked at, or ranked, a short while ago
        self._calls = 0

    def add_each(self, samples: Sequence[int]) -> None:
        """Note that samples could leave from now on."""
        self._unranked.update(dict.fromkeys(samples))

    def discard_each(self, samples: Sequence[int]) -> None:
        """Note that samples cannot leave any more."""
        unranked = self._unranked
        for sample in samples:
            if sample in unranked:
                del unranked[sample]
            else:
                self._drop(sample)

    def change_each(self, samples: Sequence[int]) -> None:
        """Rank samples anew when something has to leave."""
        for sample in samples:
            if sample in self._rank:
                self._drop(sample)
                self._unranked[sample] = None

    def rank(self) -> int:
        """Return the least rank of all."""
        self._rank_new()
        return min(self._count, default=_EMPTY)

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
            # Where one is outdated, so are most of those beside it.
            self._outdated(self._first(_AROUND))
            self._rank_new()
        return first

    def _outdated(self, samples: list[int]) -> bool:
        """Have those ranked anew whose rank has changed meanwhile; tell whether there are any."""
        samples = [sample for sample in samples if sample not in self._up_to_date]
        if not samples:
            return False
        ranks = self._ranks(self._known, samples)
        self._up_to_date.update(samples)
        changed = [s for s, rank in zip(samples, ranks, strict=True) if rank != self._rank[s]]
        self.change_each(changed)
        return bool(changed)

    def _first(self, count: int) -> list[int]:
        found: list[int] = []
        admitted = self._known.table.admitted.cells
        for rank in sorted(self._count):
            heap = self._heaps[rank]
            keys: list[int] = []
            while heap and len(found) < count:
                key = heappop(heap)
                sample = key & (1 << _NUMBER_BITS) - 1
                # A key that was put back is in the heap twice.
                if (
                    self._rank.get(sample) == rank
                    and admitted[sample] == self._sign * (key >> _NUMBER_BITS)
                    and (not keys or keys[-1] != key)
                ):
                    keys.append(key)
                    found.append(sample)
            for key in keys:
                heappush(heap, key)
            if len(found) == count:
                break
        return found

    def _rank_new(self) -> None:
        """Rank those that have none."""
        if not self._unranked:
            return
        samples = list(self._unranked)
        self._unranked.clear()
        admitted = self._known.table.admitted.cells
        ranks = self._ranks(self._known, samples)
        for sample, rank in zip(samples, ranks, strict=True):
            self._rank[sample] = rank
            self._count[rank] = self._count.get(rank, 0) + 1
            key = (self._sign * admitted[sample] << _NUMBER_BITS) | sample
            heap = self._heaps.get(rank)
            if heap is None:
                self._heaps[rank] = [key]
            else:
                heappush(heap, key)
                if len(heap) > 2 * self._count[rank] + _SLACK:
                    self._rebuild(rank)
        self._up_to_date.update(samples)

    def _rebuild(self, rank: int) -> None:
        admitted = self._known.table.admitted.cells
        keys = {
            key
            for key in self._heaps[rank]
            if self._rank.get(sample := key & (1 << _NUMBER_BITS) - 1) == rank
            and admitted[sample] == self._sign * (key >> _NUMBER_BITS)
        }
        heap = self._heaps[rank] = list(keys)
        heapify(heap)

    def _drop(self, sample: int) -> None:
        rank = self._rank.pop(sample)
        self._count[rank] -= 1
        if not self._count[rank]:
            del self._count[rank], self._heaps[rank]
