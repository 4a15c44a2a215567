"""Joins table, demand, runs and policies: which samples are here, where their bytes are, who goes.

The states of a sample are listed in table.py. A sample that is ready and not pinned could
leave: the policy of its size holds exactly these. A call that raises changes nothing. To keep a
new sample until its jobs have consumed it (paper, E.3), lease it for them before `prepared`.

Making room, in the order in which it is tried:
1. A free slot of the size, or free memory to cut such slots from: no sample leaves.
2. A sample of the same size leaves, unless samples of another size are worth less: then a whole run
   of that size is emptied and cut again.
3. If no run can be emptied because something in each is pinned, the memory between pinned samples
   is used (`smallest_gap`): the one search through all samples in this room.
Nothing is evicted before it is certain that room can be made.

Not here: the bytes (memory/), and who waits for a preparation (engine/).
"""

from collections.abc import Collection, Iterable, Sequence

import numpy as np
import numpy.typing as npt

from joader.cache.demand import Demand, Job
from joader.cache.eviction import ExpectedUse, Known, MakePolicy, Policy
from joader.cache.needs import as_samples
from joader.cache.runs import Run, Runs, round_up
from joader.cache.table import NOBODY, NOWHERE, PREPARING, READY, Table
from joader.errors import BadArgument, CacheFull, OurError, SampleTooLarge
from joader.statistics import CacheStatistics

# How many evictions pass between looks at samples of other sizes: they may be worth less by now.
_LOOK_AROUND = 64
# How many leave at a time, and how many of their size memory must hold for that: each choice is
# expensive.
_MOST_TOGETHER, _VERY_MANY = 8, 2000
_FULL_PART = 0.9  # own parts come and go, so a little is free at most times
# Runs of another size that are looked at before samples of the own size leave instead.
_RUNS_TRIED = 8


class Cache:
    """Prepared samples within a budget of bytes."""

    def __init__(self, capacity_bytes: int, make_policy: MakePolicy = ExpectedUse) -> None:
        """Start empty."""
        self.table = Table()
        self.demand = Demand()
        self._runs = Runs(capacity_bytes)
        self._make_policy = make_policy
        self._known = Known(self.table, self.demand)
        self._policies: dict[int, Policy] = {}  # by size of slots
        self._in_slot: dict[int, int] = {}  # by offset
        self._admissions = 0
        self.pinned_bytes = 0  # of samples that cannot leave now: leased, or in preparation
        self.wasted = 0  # samples prepared ahead that left before any job got them
        self._evictions = 0
        self.full_bytes = self.capacity_bytes  # what was used when something had to leave last
        self._no_room_for = 0  # bytes that were not found; 0 once something was let go

    def __len__(self) -> int:
        """Return the number of samples that are ready or in preparation."""
        return len(self.table)

    @property
    def capacity_bytes(self) -> int:
        """Bytes that can be taken: the budget, rounded down to a multiple of 64."""
        return self._runs.capacity_bytes

    @property
    def used_bytes(self) -> int:
        """Bytes of all slots that samples have."""
        return self._runs.used_bytes

    @property
    def reached_bytes(self) -> int:
        """How far from its start memory was ever used."""
        return self._runs.reached_bytes

    @property
    def is_full(self) -> bool:
        """Whether a new sample takes the place of another, now or soon."""
        return self.used_bytes > _FULL_PART * self.full_bytes

    def statistics(self) -> CacheStatistics:
        """Return how much of the budget is taken, can leave now, and is needed by jobs."""
        free_bytes = self.used_bytes - self.pinned_bytes
        many, one = (int(part * free_bytes) for part in parts_by_need(self.table, self.demand))
        return CacheStatistics(
            used_bytes=self.used_bytes,
            pinned_bytes=self.pinned_bytes,
            budget_bytes=self.capacity_bytes,
            needed_by_many_bytes=many,
            needed_by_one_bytes=one,
            needed_by_none_bytes=free_bytes - many - one,
        )

    # What jobs will ask for.

    def begin(self, job: Job, homes: npt.ArrayLike, ordered: bool = False) -> None:
        """Start a pass of the job over these distinct rows: it needs each of them once more.

        `ordered`: `demand.forecast` knows when.
        """
        self.demand.begin(job, homes, ordered)
        self._renew(self._needed_by(job))

    def end(self, job: Job) -> None:
        """End the job's pass early: it needs no further rows of it."""
        changed = self._needed_by(job)
        self.demand.end(job)
        self._renew(changed)

    def leave(self, job: Job) -> None:
        """Forget the job and its needs; all its leases must have ended."""
        changed = self._needed_by(job)
        self.demand.leave(job)
        self._renew(changed)

    def read(self, job: Job, home: int) -> None:
        """Note that the job asked for the row, present or absent: it no longer needs it."""
        self.demand.read(job, home)
        self._renew(self.table.all_of(home))

    def read_each(self, job: Job, homes: npt.ArrayLike) -> None:
        """Do as `read` for each of these distinct rows, all or none."""
        array = as_samples(homes)
        self.demand.read_each(job, array)
        self._renew(self.table.of_each(array.tolist()))

    def rate(self, job: Job, value: float) -> None:
        """Note a job's speed / |unread|: how often a second it asks for any one row."""
        self.demand.rate(job, value)

    def plan(self, homes: Collection[int], tick: int) -> None:
        """Note in which tick rows will be asked for; this replaces what was known."""
        self.demand.plan(homes, tick)
        self._renew(self.table.of_each(homes))

    def unplan(self, homes: Collection[int]) -> None:
        """Note that no use of these rows is known any more."""
        self.demand.unplan(homes)
        self._renew(self.table.of_each(homes))

    # Samples come.

    def reserve(self, sample: int, size_bytes: int) -> list[int]:
        """Give a sample in preparation its slot; return the samples that were evicted.

        Raise SampleTooLarge if it can never fit, CacheFull if it cannot while others are pinned.
        """
        count, evicted = self.reserve_each([sample], size_bytes)
        if not count:
            raise CacheFull(
                f"{size_bytes} contiguous bytes are needed, but {self.pinned_bytes} of "
                f"{self.capacity_bytes} bytes are pinned; "
                "release leases, or give the cache more memory"
            )
        return evicted

    def reserve_each(self, samples: Sequence[int], size_bytes: int) -> tuple[int, list[int]]:
        """Give the first of these samples slots of one size; return how many, and the evicted."""
        size = round_up(size_bytes)
        if size > self.capacity_bytes:
            raise SampleTooLarge(
                f"a sample of {size_bytes} bytes does not fit into {self.capacity_bytes} bytes, "
                "even if they are all free; give the cache more memory or make samples smaller"
            )
        if self.table.offset.cells[samples[0]] != NOWHERE:
            raise BadArgument(f"sample {samples[0]} has its slot already")
        count = self._place(samples, size)
        evicted: list[int] = []
        while count < len(samples):
            gone = self._make_room(size, len(samples) - count)
            if gone is None:
                break
            evicted += gone
            more = self._place(samples[count:], size)
            if not more:
                raise OurError(f"no slot of {size} bytes after evicting {gone}; please report this")
            count += more
        return count, evicted

    def reserve_if_worth(self, sample: int, size_bytes: int) -> tuple[bool, list[int]]:
        """Give a sample its slot if only less worthy samples leave for it; return these, too."""
        size, sizes = round_up(size_bytes), self.table.size.cells
        if size > self.capacity_bytes or self._place([sample], size):
            return size <= self.capacity_bytes, []
        sizes[sample] = size
        gone = self._make_room(size, 1, worth=self._policy(size).rank_of(sample))
        sizes[sample] = 0
        return bool(gone and self._place([sample], size)), gone or []

    def _place(self, samples: Sequence[int], size: int) -> int:
        """Give samples slots as long as there are any; return how many."""
        table = self.table
        offsets = self._runs.take(size, len(samples))
        for sample, offset in zip(samples, offsets, strict=False):
            self._admissions += 1
            table.offset.cells[sample] = offset
            table.size.cells[sample] = size
            table.admitted.cells[sample] = self._admissions
            self._in_slot[offset] = sample
        self.pinned_bytes += len(offsets) * size
        return len(offsets)

    def prepared(self, sample: int) -> None:
        """Note that a sample's bytes are written; without a lease it may leave now."""
        self.prepared_each((sample,))

    def prepared_each(self, samples: Sequence[int]) -> None:
        """Do as `prepared` for each of these distinct samples, all or none."""
        # One by one: a report is of some ten samples, for which arrays cost three times as much.
        table = self.table
        state, offset, pins = table.state.cells, table.offset.cells, table.pins.cells
        for sample in samples:
            if state[sample] != PREPARING or offset[sample] == NOWHERE:
                table.check_placed(sample)
        for sample in samples:
            state[sample] = READY
        free = [sample for sample in samples if not pins[sample]]
        if free:
            self._let_go(free)

    def unplace(self, sample: int) -> None:
        """Take the slot from a sample in preparation, if it has one; its leases stay."""
        self.table.check_preparing(sample)
        if size := self.table.size.cells[sample]:
            self.pinned_bytes -= size
            self._give_back((sample,), size)

    # Samples are used.

    def lease(self, sample: int) -> None:
        """Pin a sample, ready or preparing."""
        table = self.table
        if not table.pins.cells[sample] and table.state.cells[sample] == READY:
            self._policy(table.size.cells[sample]).discard_each((sample,))
            self.pinned_bytes += table.size.cells[sample]
        table.pins.cells[sample] += 1

    def release(self, sample: int) -> None:
        """End one lease."""
        table = self.table
        pins = table.pins.cells[sample]
        if not pins:
            raise BadArgument(f"sample {sample} is not leased; release each lease once")
        table.pins.cells[sample] = pins - 1
        if pins == 1 and table.state.cells[sample] == READY:
            self._let_go([sample])

    def lease_each(self, samples: npt.NDArray[np.int64]) -> None:
        """Do as `lease` for each of these samples, which are ready; one may come several times."""
        table = self.table
        free = samples[table.pins.all[samples] == 0]
        np.add.at(table.pins.all, samples, 1)
        if free.size:
            for size, some in self._by_size(np.unique(free)):
                self._policy(size).discard_each(some)
                self.pinned_bytes += size * len(some)

    def release_each(self, samples: npt.NDArray[np.int64]) -> None:
        """Do as `release` for each of these samples, which are leased."""
        table = self.table
        np.subtract.at(table.pins.all, samples, 1)
        free = samples[(table.pins.all[samples] == 0) & (table.state.all[samples] == READY)]
        if free.size:
            self._let_go(np.unique(free).tolist())

    def may_leave(self, sample: int) -> bool:
        """Tell whether a sample is ready and not pinned."""
        return self.table.state.cells[sample] == READY and not self.table.pins.cells[sample]

    # Samples go.

    def release_and_drop(self, samples: Sequence[int]) -> None:
        """End the last lease of each of these samples, which are ready, and forget them."""
        for size, some in self._by_size(np.array(samples, np.int64)):
            self.pinned_bytes -= size * len(some)
            self._forget(some, size)

    def drop(self, sample: int) -> None:
        """Forget a sample, ready or in preparation; all its leases must have ended."""
        if self.table.pins.cells[sample]:
            raise BadArgument(f"sample {sample} is leased; release it before dropping it")
        size = self.table.size.cells[sample]  # 0 without a slot
        if self.table.state.cells[sample] == READY:
            self._policy(size).discard_each((sample,))
        else:
            self.pinned_bytes -= size
        self._forget((sample,), size)

    # Room.

    def _make_room(self, size: int, count: int, worth: int | None = None) -> list[int] | None:
        """Let samples leave, of ranks below `worth`, for a slot of this size; None if none can."""
        if self.capacity_bytes - self.pinned_bytes < size or 0 < self._no_room_for <= size:
            return None
        self.full_bytes, own = self.used_bytes, self._policy(size)
        if worth is None:
            count = max(count, min(_MOST_TOGETHER, self.capacity_bytes // size // _VERY_MANY))
        victims = own.victims(count)
        self._evictions += 1
        if not victims or worth is not None or self._evictions % _LOOK_AROUND == 0:
            rank = own.rank() if worth is None else min(worth, own.rank())
            others = [(policy.rank(), other) for other, policy in self._policies.items()]
            for its_rank, other in sorted(others):
                if (victims or worth is not None) and rank <= its_rank:
                    break
                run = self._run_to_empty(other) if other != size else None
                if run is not None and run.count * run.size >= size:
                    return self._evict(self._samples_in(run))
        if worth is not None:
            return self._evict(victims) if victims and own.rank() < worth else None
        return self._evict(victims) if victims else self._clear(size)

    def _run_to_empty(self, size: int) -> Run | None:
        """Return a run of this size in which nothing is pinned, of those that should leave."""
        for victim in self._policies[size].victims(_RUNS_TRIED):
            run = self._runs.run_of(self.table.offset.cells[victim])
            if run is not None and all(map(self.may_leave, self._samples_in(run))):
                return run
        return None

    def _samples_in(self, run: Run) -> list[int]:
        """Return the samples whose slots are of a run."""
        find = self._in_slot.get
        return [sample for offset in run.offsets if (sample := find(offset)) is not None]

    def _clear(self, size: int) -> list[int] | None:
        """Use the smallest gap between pinned samples that is large enough; None without one."""
        gap = smallest_gap(self.table, size, self.capacity_bytes)
        if gap is None:
            self._no_room_for = size
            return None
        start, inside = gap
        self._runs.break_up(start, start + size)
        return self._evict(inside)

    def _evict(self, samples: list[int]) -> list[int]:
        for size, some in self._by_size(np.array(samples, np.int64)) if samples else ():
            self._policy(size).discard_each(some)
            self._forget(some, size)
        return samples

    def _policy(self, size: int) -> Policy:
        policy = self._policies.get(size)
        if policy is None:
            policy = self._policies[size] = self._make_policy(self._known)
        return policy

    def _by_size(self, samples: npt.NDArray[np.int64]) -> Iterable[tuple[int, list[int]]]:
        """Return samples by the size of their slots."""
        sizes = self.table.size.all[samples]
        if (sizes == sizes[0]).all():
            return [(int(sizes[0]), samples.tolist())]
        return [(int(size), samples[sizes == size].tolist()) for size in np.unique(sizes)]

    def _let_go(self, samples: list[int]) -> None:
        """Hand samples without pins to their policies."""
        self._no_room_for = 0
        if len(samples) == 1:
            size = self.table.size.cells[samples[0]]
            self._policy(size).add_each(samples)
            self.pinned_bytes -= size
            return
        for size, some in self._by_size(np.array(samples, np.int64)):
            self._policy(size).add_each(some)
            self.pinned_bytes -= size * len(some)

    def _needed_by(self, job: Job) -> list[int]:
        everyone = self.table.everyone()
        needed = self.demand.needed_each(job, self.table.home.all[everyone])
        return list(everyone[needed].tolist())

    def _renew(self, samples: list[int]) -> None:
        """Tell the policies of samples whose needs have changed, as far as they hold them."""
        if not samples:
            return
        here, table = np.array(samples, np.int64), self.table
        held = here[(table.pins.all[here] == 0) & (table.state.all[here] == READY)]
        if held.size:
            for size, some in self._by_size(held):
                self._policy(size).change_each(some)

    def _forget(self, samples: Sequence[int], size: int) -> None:
        """Forget samples that have slots of one size; of size 0, those that have none."""
        table = self.table
        state, own, claimed = table.state.cells, table.own.cells, table.claimed.cells
        in_vain = (s for s in samples if claimed[s] == NOBODY and state[s] == READY and not own[s])
        self.wasted += sum(1 for _ in in_vain)
        if size:
            self._give_back(samples, size)
        table.remove(*samples)

    def _give_back(self, samples: Sequence[int], size: int) -> None:
        offsets, sizes = self.table.offset.cells, self.table.size.cells
        self._no_room_for = 0
        self._runs.give_back(size, *[offsets[sample] for sample in samples])
        for sample in samples:
            del self._in_slot[offsets[sample]]
            offsets[sample] = NOWHERE
            sizes[sample] = 0


# With more samples, a part is looked at, evenly spread over the table, so that readers are not held
# up: looking at this many takes about a millisecond per eight jobs.
MOST_SEEN = 1 << 14


def parts_by_need(table: Table, demand: Demand) -> tuple[float, float]:
    """Return which parts, 0 to 1, of the bytes that may leave are needed by several jobs, by one.

    For people to see; nothing is decided by it.
    """
    free = np.flatnonzero((table.state.all == READY) & (table.pins.all == 0))
    if not free.size:
        return 0.0, 0.0
    seen = free[:: -(-free.size // MOST_SEEN)]
    sizes, needs = table.size.all[seen], demand.counts(table.home.all[seen])
    total = float(sizes.sum())
    return float(sizes[needs > 1].sum()) / total, float(sizes[needs == 1].sum()) / total


def smallest_gap(table: Table, size: int, capacity_bytes: int) -> tuple[int, list[int]] | None:
    """Return where the smallest gap between pinned samples that is large enough starts.

    Also returns the samples inside, which have to leave; None if no gap is large enough.
    """
    placed = np.flatnonzero((table.state.all > 0) & (table.offset.all >= 0))
    held = placed[(table.pins.all[placed] > 0) | (table.state.all[placed] == PREPARING)]
    held = held[np.argsort(table.offset.all[held])]
    ends = np.r_[0, table.offset.all[held] + table.size.all[held]]
    rooms = np.r_[table.offset.all[held], capacity_bytes] - ends
    enough = np.flatnonzero(rooms >= size)
    if not enough.size:
        return None
    start = int(ends[enough[np.argmin(rooms[enough])]])
    inside = placed[
        (table.offset.all[placed] < start + size)
        & (table.offset.all[placed] + table.size.all[placed] > start)
    ]
    return start, inside.tolist()
