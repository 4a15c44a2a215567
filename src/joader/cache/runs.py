"""Slots for samples: memory is cut into *runs*, and each run into slots of one size.

A slot that becomes free serves the next sample of its size, whatever its neighbors are: taking and
giving back need no search. A run is one part in RUNS_PART of the memory, at most 16 MiB, or one
slot: even if there are many sizes, memory is used from its start, so that it can be touched ahead.
A run whose slots are all free can be given to another size. If nothing else helps, a run in which
something is pinned is *broken up*: its free slots become plain free memory at once, the used ones
when they are given back. So bytes that are not in use can always be used, whatever their size was.

`Runs` are cut from `Slots`, which know which byte ranges are free: best fit at multiples of 64
bytes. The free ranges are kept by size, with the distinct sizes sorted: finding, inserting and
removing one is a bisection of that list, which is short even if there are many ranges.

Invariants of `Slots`: taken and free ranges alternate without gap or overlap over [0, capacity); no
two free ranges touch. So `allocate` succeeds whenever any contiguous free range is large enough.

Bookkeeping only: nothing is written to the bytes, and samples are not known here. Not here: which
sample leaves so that a slot becomes free (eviction/).
"""

from bisect import bisect_left, insort
from dataclasses import dataclass
from functools import lru_cache

from joader.errors import BadArgument, SampleTooLarge

# A cache line, and the stride of a gather over slots of the shared arena (memory/rows.py).
UNIT_BYTES = 64
# Steps between a power of two and the next: what a slot has beyond its sample is a ninth at most.
_STEPS = 8


def round_up(size_bytes: int) -> int:
    """Return the bytes a sample takes: the next multiple of 64, and one unit if it is empty."""
    if size_bytes < 0:
        raise BadArgument(f"a sample cannot have {size_bytes} bytes; give 0 or more")
    return max(UNIT_BYTES, size_bytes + UNIT_BYTES - 1 & -UNIT_BYTES)


# Cached: called for each sample of a dataset of many sizes, and sizes repeat.
@lru_cache(maxsize=1 << 15)
def class_bytes(size_bytes: int) -> int:
    """Return the size of slots for samples that differ in size: a step between powers of two."""
    size = round_up(size_bytes)
    step = max(UNIT_BYTES, (1 << size.bit_length() - 1) // _STEPS)
    return -(-size // step) * step


RUNS_PART = 64
MOST_RUN_BYTES = 1 << 24
# The most slots that are cut at a time: more would take a millisecond.
_MOST_SLOTS = 4096


@dataclass(eq=False, slots=True)
class Run:
    """Slots of one size, side by side."""

    start: int
    size: int  # of a slot
    count: int
    used: int = 0

    @property
    def end(self) -> int:
        """Where it ends."""
        return self.start + self.count * self.size

    @property
    def offsets(self) -> range:
        """Where its slots start."""
        return range(self.start, self.end, self.size)


class Runs:
    """All slots of one arena, used or free."""

    def __init__(self, capacity_bytes: int) -> None:
        """Start with nothing cut."""
        self._memory = Slots(capacity_bytes)
        self._run_bytes = min(MOST_RUN_BYTES, capacity_bytes // RUNS_PART) & -UNIT_BYTES
        self.used_bytes = 0
        self.reached_bytes = 0  # nothing beyond was ever cut
        self._runs: dict[int, Run] = {}  # by start
        self._run: dict[int, Run] = {}  # by the offset of each slot; none if broken up
        self._free: dict[int, dict[int, None]] = {}  # by size: offsets
        self._empty: dict[int, dict[int, Run]] = {}  # runs without a used slot, by size and start

    @property
    def capacity_bytes(self) -> int:
        """Bytes that can be used."""
        return self._memory.capacity_bytes

    def take(self, size_bytes: int, count: int) -> list[int]:
        """Take slots of one size, as many as there are room for; return their offsets."""
        size = round_up(size_bytes)
        taken: list[int] = []
        while len(taken) < count:
            free = self._free.get(size)
            if not free and not self._cut(size, count - len(taken)):
                break
            free = self._free[size]
            while free and len(taken) < count:
                offset, _ = free.popitem()
                run = self._run[offset]
                if not run.used:
                    del self._empty[size][run.start]
                run.used += 1
                taken.append(offset)
        self.used_bytes += size * len(taken)
        return taken

    def give_back(self, size: int, *offsets: int) -> None:
        """Note that slots of one size are not used any more."""
        self.used_bytes -= size * len(offsets)
        runs, free = self._run, self._free.setdefault(size, {})
        for offset in offsets:
            run = runs.get(offset)
            if run is None:
                self._memory.free(offset)
                continue
            run.used -= 1
            free[offset] = None
            if not run.used:
                self._empty.setdefault(size, {})[run.start] = run

    def run_of(self, offset: int) -> Run | None:
        """Return the run that a slot is of; None if that was broken up."""
        return self._run.get(offset)

    def break_up(self, start: int, end: int) -> None:
        """Make plain memory of the runs between `start` and `end`, except for used slots."""
        for run in list(self._runs.values()):
            if run.start < end and run.end > start:
                self._memory.split(run.start, run.size)
                free = self._free.get(run.size, {})
                for offset in run.offsets:
                    del self._run[offset]
                    if offset in free:
                        del free[offset]
                        self._memory.free(offset)
                self._forget(run)

    def _cut(self, size: int, wanted: int) -> bool:
        """Cut a run into slots of this size, from free memory or from unused runs."""
        most = max(1, min(_MOST_SLOTS, self._run_bytes // size))
        while (count := min(most, self._memory.largest_free_bytes // size)) < min(wanted, most):
            if not self._melt(size):
                break
        if not count:
            return False
        start = self._memory.allocate(count * size)
        assert start is not None
        run = self._runs[start] = Run(start, size, count)
        self.reached_bytes = max(self.reached_bytes, run.end)
        self._run.update(dict.fromkeys(run.offsets, run))
        # Backwards: `popitem` takes the last, so slots are used from the start of the run on.
        self._free.setdefault(size, {}).update(dict.fromkeys(reversed(run.offsets)))
        self._empty.setdefault(size, {})[start] = run
        return True

    def _melt(self, size: int) -> bool:
        """Make plain memory of an unused run of another size; False if there is none."""
        for other, empty in self._empty.items():
            if other != size and empty:
                run = next(iter(empty.values()))
                free = self._free[other]
                for offset in run.offsets:
                    del self._run[offset], free[offset]
                self._memory.free(run.start)
                self._forget(run)
                return True
        return False

    def _forget(self, run: Run) -> None:
        del self._runs[run.start]
        if not run.used:
            del self._empty[run.size][run.start]


class Slots:
    """Byte ranges of one arena, taken or free."""

    def __init__(self, capacity_bytes: int) -> None:
        """Start with one free range; bytes beyond the last multiple of 64 are not used."""
        if capacity_bytes < UNIT_BYTES:
            raise BadArgument(
                f"a capacity of {capacity_bytes} bytes is too small; give at least {UNIT_BYTES}"
            )
        self.capacity_bytes = capacity_bytes & -UNIT_BYTES
        self.free_bytes = 0
        self._taken: dict[int, int] = {}  # offset -> end
        self._free: dict[int, int] = {}  # offset -> end
        self._free_ending: dict[int, int] = {}  # end -> offset
        self._sizes: list[int] = []  # distinct sizes of free ranges, ascending
        self._of_size: dict[int, dict[int, None]] = {}  # size -> offsets of free ranges, in order
        self._insert(0, self.capacity_bytes)

    @property
    def largest_free_bytes(self) -> int:
        """Size of the largest contiguous free range."""
        return self._sizes[-1] if self._sizes else 0

    def allocate(self, size_bytes: int) -> int | None:
        """Take the start of the smallest free range that is large enough, or return None."""
        size = round_up(size_bytes)
        if size > self.capacity_bytes:
            raise SampleTooLarge(
                f"a sample of {size_bytes} bytes does not fit into {self.capacity_bytes} bytes, "
                "even if they are all free; give the cache more memory or make samples smaller"
            )
        place = bisect_left(self._sizes, size)
        if place == len(self._sizes):
            return None

        offset = next(reversed(self._of_size[self._sizes[place]]))
        end = self._free[offset]
        self._remove(offset)
        if offset + size < end:
            self._insert(offset + size, end)
        self._taken[offset] = offset + size
        return offset

    def split(self, offset: int, size: int) -> None:
        """Split a taken range into ranges of this size; the last one may be smaller."""
        end = self._taken_end(offset)
        for start in range(offset, end, size):
            self._taken[start] = min(start + size, end)

    def free(self, offset: int) -> None:
        """Give a taken range back and merge it with its free neighbors."""
        end = self._taken_end(offset)
        del self._taken[offset]
        before, after = self._free_ending.get(offset), self._free.get(end)
        if before is not None:
            self._remove(before)
            offset = before
        if after is not None:
            self._remove(end)
            end = after
        self._insert(offset, end)

    def _taken_end(self, offset: int) -> int:
        end = self._taken.get(offset)
        if end is None:
            raise BadArgument(
                f"no taken range starts at offset {offset}; free each range only once"
            )
        return end

    def _insert(self, offset: int, end: int) -> None:
        size = end - offset
        self._free[offset] = end
        self._free_ending[end] = offset
        self.free_bytes += size
        same = self._of_size.get(size)
        if same is None:
            self._of_size[size] = {offset: None}
            insort(self._sizes, size)
        else:
            same[offset] = None

    def _remove(self, offset: int) -> None:
        end = self._free.pop(offset)
        size = end - offset
        del self._free_ending[end]
        self.free_bytes -= size
        same = self._of_size[size]
        del same[offset]
        if not same:
            del self._of_size[size]
            del self._sizes[bisect_left(self._sizes, size)]
