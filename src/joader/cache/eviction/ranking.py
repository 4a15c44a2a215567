"""Samples by key, smallest first: a heap whose outdated entries are skipped when they come up.

No two samples have the same key, so the heap holds bare keys, which compare fastest. A key that is
removed stays in the heap until it reaches the top or outdated keys outnumber the others.
"""

from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from typing import Generic, TypeVar

from joader.cache.eviction.policy import nobody

Key = TypeVar("Key", int, tuple[float, int])

# Outdated keys allowed beyond the number of valid ones, so that small rankings are rarely rebuilt.
SLACK = 64
# Keys that `order` sorts first; most callers stop within a few dozen.
BLOCK = 32


class Ranking(Generic[Key]):
    """Samples, each with a key that no other has, in ascending order of keys."""

    __slots__ = ("_heap", "_key", "_sample")

    def __init__(self) -> None:
        """Start empty."""
        self._heap: list[Key] = []
        self._key: dict[int, Key] = {}
        self._sample: dict[Key, int] = {}

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self._key)

    def put(self, sample: int, key: Key) -> None:
        """Add a sample with this key, or change its key."""
        old = self._key.get(sample)
        if old is not None:
            del self._sample[old]
        self._key[sample] = key
        self._sample[key] = sample
        heappush(self._heap, key)
        if len(self._heap) > 2 * len(self._key) + SLACK:
            self._heap = list(self._sample)
            heapify(self._heap)

    def remove(self, sample: int) -> None:
        """Take a sample out."""
        del self._sample[self._key.pop(sample)]

    def first(self) -> int:
        """Return the sample with the smallest key; raise OurError if there is none."""
        return self._sample[self.first_key()]

    def first_key(self) -> Key:
        """Return the smallest key; raise OurError if there is none."""
        heap = self._heap
        while heap:
            if heap[0] in self._sample:
                return heap[0]
            heappop(heap)
        raise nobody()

    def order(self) -> Iterator[int]:
        """Iterate over the samples; the first k cost O(k log n), outdated keys are met once."""
        # Blocks that double: the keys are popped and pushed back, so a caller that stops early
        # leaves the heap whole.
        done, count = 0, BLOCK
        while done < len(self._key):
            keys = self._smallest(count)
            for key in keys[done:]:
                yield self._sample[key]
            done, count = len(keys), 2 * count

    def _smallest(self, count: int) -> list[Key]:
        """Return this many of the smallest keys, in order, or all if there are fewer."""
        heap, keys = self._heap, list[Key]()
        while heap and len(keys) < count:
            key = heappop(heap)
            # A key that was removed and put back is in the heap twice.
            if key in self._sample and (not keys or keys[-1] != key):
                keys.append(key)
        for key in keys:
            heappush(heap, key)
        return keys
