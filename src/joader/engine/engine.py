"""What to do now: one event in, instructions out.

The engine owns plans and windows (`reader.py`), draws jointly (`planner.py`) and decides what is
prepared, delivered and given up. It knows no clock, process, socket or file; equal events give
equal instructions.

**Memory.** Every reader is guaranteed `share` samples: a batch in hand and one in preparation. What
it asks for beyond that may not use what others are still owed, and is given back, the farthest
first, when a reader within its share finds no room. A job that cannot have its share beside those
before it is refused with the bytes needed.

**Preparations.** A second taker of a sample in preparation waits for it: equal requests in flight
are one. A slot is reserved before the work starts, with the size of the largest sample of the
recipe so far; the first sample of a recipe, and one that turns out larger, says `Sized` and gets
its `Place`. A worker's death costs a sample one try of two.

**Fresh recipes** (random code in the dataset): an instance serves each job once. If a job needs a
row again while an instance it has had is still here, that one is dropped if nobody holds it, else
the row's second number is used.
"""

from collections.abc import Callable
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np

from joader.cache import Cache, ExpectedUse, Policy, round_up
from joader.engine.planner import look_ahead, plan
from joader.engine.reader import Reader, Recipe, Stats
from joader.engine.recipe_rows import NUMBER_LIMIT, JobRows
from joader.engine.values import (
    Begin,
    Deliver,
    Event,
    Failed,
    Forget,
    Instruction,
    Job,
    Join,
    Leave,
    Lost,
    Place,
    Prepare,
    Prepared,
    Refuse,
    Release,
    Sized,
    TakeBack,
    Want,
)
from joader.errors import BadArgument, CacheFull, JobExists, UnknownJob
from joader.sampling import DependentSampler, Sampler, SeededSampler, SequentialSampler

TRIES = 2
ORDERS = ("shared", "seeded", "given")


@dataclass
class _Preparation:
    """A sample on its way: for whom first, who waits, how often it was tried, what it needs."""

    recipe: Recipe
    row: int
    job: Job
    position: int
    waiting: list[Reader]
    tries: int = 1
    size_bytes: int = 0  # told by Sized and not placed yet; 0 otherwise


class Engine:
    """All jobs of one node."""

    def __init__(self, capacity_bytes: int, seed: int = 0, policy: Policy | None = None) -> None:
        """Start without jobs."""
        self._cache = Cache(capacity_bytes, policy or ExpectedUse())
        self._seed = seed
        self._readers: dict[Job, Reader] = {}
        self._recipes: dict[str, Recipe] = {}
        self._recipes_made = 0
        self._underway: dict[int, _Preparation] = {}
        self._served: dict[int, set[Job]] = {}  # of fresh samples that are here: who has had it
        self._unclaimed: dict[int, Job] = {}  # prepared and not delivered yet: for whom first
        self._maker: dict[int, Job] = {}  # of samples that are here: who it was counted for
        self._out: list[Instruction] = []
        self._handlers: dict[type, Callable[[Any], None]] = {
            Join: self._join,
            Begin: self._begin,
            Want: self._want,
            Prepared: self._prepared,
            Sized: self._sized,
            Failed: self._failed,
            Lost: self._lost,
            Release: self._release,
            TakeBack: self._take_back,
            Leave: self._leave,
        }

    def handle(self, event: Event) -> list[Instruction]:
        """Take one event in and return what is to be done, in order."""
        self._out = []
        self._handlers[type(event)](event)
        self._pump()
        return self._out

    def stats(self, job: Job) -> Stats:
        """Return what the job got so far."""
        return self._reader(job).stats()

    @property
    def used_bytes(self) -> int:
        """Bytes of all samples that are here."""
        return self._cache.used_bytes

    @property
    def pinned_bytes(self) -> int:
        """Bytes of samples that are leased or in preparation."""
        return self._cache.pinned_bytes

    def _reader(self, job: Job) -> Reader:
        if job not in self._readers:
            raise UnknownJob(f"job {job} has not joined, or has left")
        return self._readers[job]

    # Jobs come and go.

    def _join(self, event: Join) -> None:
        if event.job in self._readers:
            raise JobExists(f"job {event.job} has joined already")
        if event.batch_size < 1:
            raise BadArgument(f"batch size is {event.batch_size}; it is at least 1")
        if event.order not in ORDERS:
            raise BadArgument(f"order is {event.order!r}; there are {', '.join(ORDERS)}")
        rows = JobRows(event.rows, event.row_limit)
        recipe = self._recipes.get(event.recipe) or self._new_recipe(event)
        sampler = recipe.sampler if event.order == "shared" else _own_sampler(event)
        reader = Reader(event.job, recipe, rows, event.batch_size, sampler)
        self._readers[event.job] = reader
        recipe.readers.append(reader)
        self._check_shares()

    def _new_recipe(self, event: Join) -> Recipe:
        # Two ranges of numbers: the second is for second instances of fresh samples.
        base = max((r.base + 2 * r.row_limit for r in self._recipes.values()), default=0)
        if base + 2 * event.row_limit > NUMBER_LIMIT:
            raise BadArgument("the datasets in use have more than 2**31 rows together")
        self._recipes_made += 1
        sampler = DependentSampler(self._seed + self._recipes_made)
        recipe = Recipe(event.recipe, event.row_limit, base, event.fresh, sampler)
        self._recipes[event.recipe] = recipe
        return recipe

    def _check_shares(self) -> None:
        """Refuse the latest jobs whose shares do not fit beside those of the jobs before them."""
        needed = 0
        for reader in list(self._readers.values()):
            size = round_up(reader.recipe.size_bytes) if reader.recipe.size_bytes else 0
            share = reader.share * size
            if needed + share > self._cache.capacity_bytes:
                reason = (
                    f"job {reader.job} needs {share} bytes, two batches of {reader.batch_size} "
                    f"samples of {size} bytes, beside {needed} bytes of the jobs before it, and "
                    f"the budget is {self._cache.capacity_bytes}; give it at least "
                    f"{needed + share} bytes, or use smaller batches"
                )
                self._out.append(Refuse(reader.job, reason))
                self._leave(Leave(reader.job))
            else:
                needed += share

    def _begin(self, event: Begin) -> None:
        reader = self._reader(event.job)
        mine = np.ones(reader.rows.rows.size, np.bool_)
        mine[event.done] = False
        if reader.in_pass:
            self._give_up_plan(reader)
            reader.sampler.remove(reader.job)
            self._cache.end(reader.job)
        reader.sampler.add(reader.job, reader.rows.numbers[mine], event.epoch)
        self._cache.begin(reader.job, np.unique(reader.recipe.base + reader.rows.rows[mine]))
        reader.in_pass = True

    def _take_back(self, event: TakeBack) -> None:
        reader = self._reader(event.job)
        if reader.in_pass:
            planned = reader.rows.numbers[np.array(reader.positions, np.int64)]
            unread = np.concatenate([reader.sampler.unread(reader.job), planned])
            self._give_up_plan(reader)
            reader.sampler.remove(reader.job)
            reader.sampler.add(reader.job, unread)

    def _give_up_plan(self, reader: Reader) -> None:
        while reader.asked:
            self._unask(reader)
        reader.clear_plan()

    def _leave(self, event: Leave) -> None:
        reader = self._reader(event.job)
        if reader.in_pass:
            self._give_up_plan(reader)
            reader.sampler.remove(reader.job)
            self._cache.leave(reader.job)
        for served in self._served.values():
            served.discard(reader.job)
        del self._readers[reader.job]
        reader.recipe.readers.remove(reader)
        if not reader.recipe.readers:
            self._close(reader.recipe)

    def _close(self, recipe: Recipe) -> None:
        """Forget a recipe that nobody reads, once no worker writes for it any more."""
        numbers = range(recipe.base, recipe.base + 2 * recipe.row_limit)
        if not any(sample in numbers for sample in self._underway):
            for sample in [sample for sample in self._cache.samples() if sample in numbers]:
                self._cache.drop(sample)
                self._forget((sample,))
            del self._recipes[recipe.name]

    # What workers report.

    def _prepared(self, event: Prepared) -> None:
        preparation = self._underway.pop(event.sample)
        self._cache.prepared(event.sample)
        self._unclaimed[event.sample] = preparation.job
        for reader in preparation.waiting:
            reader.unready.discard(event.sample)
        if not preparation.recipe.readers:
            self._close(preparation.recipe)

    def _sized(self, event: Sized) -> None:
        preparation = self._underway[event.sample]
        recipe = preparation.recipe
        if self._cache.has(event.sample):  # its slot was too small
            for reader in preparation.waiting:
                self._cache.release(reader.job, event.sample)
            self._cache.abandon(event.sample)
        if event.size_bytes > self._cache.capacity_bytes:
            reason = f"the sample has {event.size_bytes} bytes and the budget is "
            self._failed(Failed(event.sample, f"{reason}{self._cache.capacity_bytes}"))
            return
        preparation.size_bytes = event.size_bytes
        first = not recipe.size_bytes
        recipe.size_bytes = max(recipe.size_bytes, event.size_bytes)
        if first:
            self._check_shares()
        if event.sample in self._underway:
            self._place(event.sample, preparation)

    def _place(self, sample: int, preparation: _Preparation) -> bool:
        """Give a sample that was sized its slot, if there is room."""
        size = preparation.size_bytes
        offset = self._reserve(sample, size, within_share=True)
        if offset is None:
            return False
        preparation.size_bytes = 0
        for reader in preparation.waiting:
            self._cache.lease(reader.job, sample)
        self._out.append(Place(sample, offset, size))
        return True

    def _failed(self, event: Failed) -> None:
        preparation = self._underway.pop(event.sample)
        for reader in preparation.waiting:
            reader.unready.discard(event.sample)
            reader.failed[event.sample] = event.reason
            if self._cache.has(event.sample):
                self._cache.release(reader.job, event.sample)
        if self._cache.has(event.sample):
            self._cache.abandon(event.sample)
        if not preparation.recipe.readers:
            self._close(preparation.recipe)

    def _lost(self, event: Lost) -> None:
        for sample in event.samples:
            preparation = self._underway[sample]
            if preparation.tries == TRIES:
                self._failed(Failed(sample, f"{event.reason}, {TRIES} times"))
            else:
                preparation.tries += 1
                preparation.size_bytes = 0
                self._out.append(self._prepare(sample, preparation))

    def _prepare(self, sample: int, preparation: _Preparation) -> Prepare:
        offset, size = -1, 0
        if self._cache.has(sample):
            offset, size = self._cache.place(sample)
        return Prepare(
            sample,
            preparation.recipe.name,
            preparation.row,
            preparation.job,
            preparation.position,
            offset,
            size,
        )

    # What jobs ask for and give back.

    def _want(self, event: Want) -> None:
        reader = self._reader(event.job)
        if event.count < 1:
            raise BadArgument(f"job {event.job} wants {event.count} samples; it is at least 1")
        reader.note_want(event.count, event.now)

    def _release(self, event: Release) -> None:
        reader = self._reader(event.job)
        for sample in event.samples.tolist():
            self._cache.release(reader.job, sample)
        reader.held -= event.samples.size

    def _deliver(self, reader: Reader, count: int) -> None:
        reader.wants.popleft()
        positions, samples = reader.take(count)
        good = [n for n, sample in enumerate(samples) if sample not in reader.failed]
        failed = tuple(
            (position, reader.failed[sample])
            for position, sample in zip(positions, samples, strict=True)
            if sample in reader.failed
        )
        for sample in samples:
            if self._cache.needed(reader.job, sample):  # a row may stand at several positions
                self._cache.read(reader.job, sample)
        for n in good:
            self._count(reader, samples[n])
        reader.held += len(good)
        self._out.append(
            Deliver(
                reader.job,
                np.array([positions[n] for n in good], np.int64),
                np.array([samples[n] for n in good], np.int64),
                np.array([self._cache.place(samples[n])[0] for n in good], np.int64),
                failed,
            )
        )

    def _count(self, reader: Reader, sample: int) -> None:
        """Count a delivery: the first of a preparation is "prepared", every other a hit."""
        reader.delivered += 1
        if sample in self._unclaimed:
            del self._unclaimed[sample]
            self._maker[sample] = reader.job
            reader.prepared += 1
        elif self._maker.get(sample) != reader.job:
            reader.shared += 1
        if reader.recipe.fresh:
            self._served.setdefault(sample, set()).add(reader.job)

    # Until nothing moves.

    def _pump(self) -> None:
        moving = True
        while moving:
            moving = False
            for reader in self._readers.values():
                while count := reader.due():
                    self._deliver(reader, count)
                    moving = True
            for samplers in self._by_sampler():
                moving |= plan(samplers)
            for sample, preparation in list(self._underway.items()):
                if preparation.size_bytes:
                    moving |= self._place(sample, preparation)
            moving |= self._ask()
            moving |= not moving and self._refuse_stuck()

    def _refuse_stuck(self) -> bool:
        """Refuse a job whose next batch cannot fit, though nobody holds anything: larger samples.

        Shares are checked with the size of a recipe's first sample. If later ones are so large
        that a batch of them exceeds the budget, nothing would ever move again.
        """
        busy = any(not preparation.size_bytes for preparation in self._underway.values())
        if busy or any(reader.held for reader in self._readers.values()):
            return False
        for reader in self._readers.values():
            if reader.wants and reader.samples:
                size = round_up(reader.recipe.size_bytes)
                reason = (
                    f"a batch of {reader.wants[0]} samples of up to {size} bytes does not fit the "
                    f"budget of {self._cache.capacity_bytes} bytes; give it at least "
                    f"{reader.share * size} bytes, or use smaller batches"
                )
                self._out.append(Refuse(reader.job, reason))
                self._leave(Leave(reader.job))
                return True
        return False

    def _by_sampler(self) -> list[list[Reader]]:
        """Return the readers, those together that draw jointly."""
        together: dict[int, list[Reader]] = {}
        for reader in self._readers.values():
            if reader.in_pass:
                together.setdefault(id(reader.sampler), []).append(reader)
        return list(together.values())

    def _ask(self) -> bool:
        """Ask for planned samples, for the job that will run dry first; tell whether any was."""
        queue = [
            (reader.window / max(reader.rate, 1.0), number, reader)
            for number, reader in enumerate(self._readers.values())
        ]
        heapify(queue)
        asked = False
        while queue:
            _, number, reader = heappop(queue)
            limit = look_ahead(reader)
            if (
                reader.window < limit
                and reader.asked < len(reader.samples)
                and self._request(reader)
            ):
                asked = True
                heappush(queue, (reader.window / max(reader.rate, 1.0), number, reader))
        return asked

    def _request(self, reader: Reader) -> bool:
        """Ask for the reader's next planned sample, if there is room for it."""
        sample = self._instance(reader, reader.samples[reader.asked])
        if sample is None:
            return False
        reader.samples[reader.asked] = sample
        preparation = self._underway.get(sample)
        if preparation is None and not self._cache.has(sample):
            preparation = self._start(reader, sample)
            if preparation is None:
                return False
        if preparation is not None:
            preparation.waiting.append(reader)
            reader.unready.add(sample)
        if self._cache.has(sample):
            self._cache.lease(reader.job, sample)
        reader.asked += 1
        return True

    def _start(self, reader: Reader, sample: int) -> _Preparation | None:
        """Start a preparation, with a slot if the size of the recipe's samples is known."""
        recipe = reader.recipe
        if recipe.size_bytes:
            within = reader.window < reader.share
            if self._reserve(sample, recipe.size_bytes, within, reader) is None:
                return None
        elif any(other.recipe is recipe for other in self._underway.values()):
            return None  # the first sample tells the size
        row = (sample - recipe.base) % recipe.row_limit
        preparation = _Preparation(recipe, row, reader.job, reader.positions[reader.asked], [])
        self._underway[sample] = preparation
        self._out.append(self._prepare(sample, preparation))
        return preparation

    def _instance(self, reader: Reader, sample: int) -> int | None:
        """Return under which number a job may have a row: never an instance it has had before."""
        recipe = reader.recipe
        if not recipe.fresh:
            return sample
        first = recipe.base + (sample - recipe.base) % recipe.row_limit
        for number in (first, first + recipe.row_limit):
            if number not in self._served or reader.job not in self._served[number]:
                return number
            if not self._cache.pinned(number):
                self._cache.drop(number)
                self._forget((number,))
                return number
        return None  # both are in others' hands: wait until one is released

    # Room.

    def _reserve(
        self, sample: int, size_bytes: int, within_share: bool, reader: Reader | None = None
    ) -> int | None:
        """Reserve a slot; within a share, others give back what they have beyond theirs."""
        if not within_share and not self._spare(size_bytes):
            return None
        while True:
            try:
                offset, evicted = self._cache.reserve(sample, size_bytes)
            except CacheFull:
                if within_share and self._reclaim(reader):
                    continue
                return None
            self._forget(tuple(evicted))
            return offset

    def _spare(self, size_bytes: int) -> bool:
        """Tell whether there is room beyond what readers are still owed."""
        owed = sum(
            max(0, reader.share - reader.window) * round_up(reader.recipe.size_bytes)
            for reader in self._readers.values()
            if reader.recipe.size_bytes and reader.in_pass
        )
        free = self._cache.capacity_bytes - self._cache.pinned_bytes
        return free - owed >= round_up(size_bytes)

    def _reclaim(self, asking: Reader | None) -> bool:
        """Take the farthest sample beyond its share from the reader with most, if any."""
        beyond = [
            (reader.window - reader.share, number, reader)
            for number, reader in enumerate(self._readers.values())
            if reader is not asking and reader.window > reader.share and reader.asked
        ]
        for _, _, reader in sorted(beyond, reverse=True):
            if reader.samples[reader.asked - 1] not in reader.unready:
                self._unask(reader)
                return True
        return False

    def _unask(self, reader: Reader) -> None:
        """Give up the farthest sample the reader asked for; it stays planned."""
        reader.asked -= 1
        sample = reader.samples[reader.asked]
        preparation = self._underway.get(sample)
        if preparation is not None and reader in preparation.waiting:
            preparation.waiting.remove(reader)
            if reader not in preparation.waiting:
                reader.unready.discard(sample)
        if sample in reader.failed:
            if sample not in reader.samples[: reader.asked]:
                del reader.failed[sample]
        elif self._cache.has(sample):
            self._cache.release(reader.job, sample)

    def _forget(self, samples: tuple[int, ...]) -> None:
        for sample in samples:
            self._served.pop(sample, None)
            self._unclaimed.pop(sample, None)
            self._maker.pop(sample, None)
        if samples:
            self._out.append(Forget(samples))


def _own_sampler(event: Join) -> Sampler:
    return SeededSampler(event.seed) if event.order == "seeded" else SequentialSampler()
