"""Slots for samples: memory is cut into *runs*, and each run into slots of one size.

A slot that becomes free serves the next sample of its size, whatever lies beside it: taking and
giving back need no search. A run is one part in RUNS_PART of the memory, 16 MiB at most, or one
slot: though sizes are many, memory is used from its start on, so that it can be touched ahead. A
run whose slots are all free can be given to another size; one in which something is pinned can be
*broken up*, if nothing else helps: its free slots become plain free memory, and those in use do
when they are given back. So what is not in use can always be used, whatever its size was.

Bookkeeping only: nothing is written to the bytes, and samples are not known here. Not here: which
sample leaves (eviction/), free memory beside the runs (slots.py).
"""

from dataclasses import dataclass

from joader.cache.classes import UNIT_BYTES, round_up
from joader.cache.slots import Slots

RUNS_PART = 64
MOST_RUN_BYTES = 1 << 24
# More slots than that are never cut at a time: it would take a millisecond.
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
        self._run: dict[int, Run] = {}  # by the offset of each slot; those of no run are broken off
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
        """Make plain memory of the runs from here to there, but for what is used."""
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
        """Cut a run into slots of this size, from free memory or of runs that nobody uses."""
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
        """Make plain memory of a run of another size that nobody uses; False if there is none."""
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
