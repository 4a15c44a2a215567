"""From planned to leased: samples are asked for, prepared, placed, and given up to make room.

**Memory.** Every reader is guaranteed its share of samples. What it asks for beyond that may not
use what others are still owed, and is given back, the farthest first, when a reader within its
share finds no room.

**Preparations.** A second taker of a sample in preparation waits for it: equal requests in flight
are one. A slot is reserved before the work starts, with the size of the largest sample of the
recipe so far; the first sample of a recipe, and one that turns out larger, says `Sized` and gets
its `Place`. A worker's death costs a sample one try of two. A slot is a worker's until it reports,
whoever has left meanwhile.

A preparation is *at work* in a worker, or *unplaced*: sized, and the worker waits for its slot.
Not here: who may ask now (engine.py).
"""

from dataclasses import dataclass, field

from joader.cache import Cache, round_up
from joader.engine.instances import Instances
from joader.engine.reader import Reader
from joader.engine.recipes import Recipe
from joader.engine.values import Forget, Instruction, Job, Place, Prepare
from joader.errors import CacheFull

TRIES = 2


@dataclass(eq=False)
class _Preparation:
    """A sample on its way: for whom first, and which positions of which jobs wait for it."""

    recipe: Recipe
    row: int
    job: Job
    position: int
    waiting: dict[tuple[Job, int], Reader] = field(default_factory=dict)
    tries: int = 1


class Supply:
    """Samples that are here or on their way, and who has asked for them."""

    def __init__(
        self, cache: Cache, readers: dict[Job, Reader], instructions: list[Instruction]
    ) -> None:
        """Start empty; readers come and go, and instructions are appended."""
        self._cache = cache
        self._readers = readers
        self._out = instructions
        self._underway: dict[int, _Preparation] = {}
        self._unplaced: dict[int, int] = {}  # size in bytes
        self._instances = Instances()
        self._maker: dict[int, Job] = {}  # of samples that were delivered: whom they count for

    @property
    def at_work(self) -> bool:
        """Whether some worker will report without being told anything more."""
        return len(self._underway) > len(self._unplaced)

    # Asking and giving up.

    def ask(self, reader: Reader) -> bool:
        """Ask for the reader's next planned sample, if there is room for it."""
        place = len(reader.samples)
        position, home = reader.positions[place], reader.homes[place]
        sample = self._instance(reader, home) if reader.fresh else home
        here = self._cache.has(sample)
        preparation = self._underway.get(sample)
        if preparation is None and not here:
            preparation = self._start(reader, sample, position, home)
            if preparation is None:
                self._instances.forget(sample)
                return False
            here = self._cache.has(sample)
        if preparation is not None:
            preparation.waiting[reader.job, position] = reader
            reader.unready.add(position)
        if here:
            self._cache.lease(reader.job, sample)
        if reader.fresh:
            self._instances.take(reader.job, sample)
        reader.samples.append(sample)
        return True

    def give_up(self, reader: Reader) -> None:
        """Give up the farthest sample the reader asked for; it stays planned."""
        position, sample = reader.unask()
        if reader.failed.pop(position, None) is not None:
            return
        if position in reader.unready:
            reader.unready.remove(position)
            del self._underway[sample].waiting[reader.job, position]
        if self._cache.has(sample):
            self._cache.release(reader.job, sample)
        if reader.fresh:
            self._instances.put_back(reader.job, sample)

    def give_up_all(self, reader: Reader) -> None:
        """Give up all the reader asked for."""
        while reader.samples:
            self.give_up(reader)

    def claim(self, job: Job, sample: int) -> Job | None:
        """Count a delivery: return for whom the sample counts as prepared, None if now for this."""
        maker = self._maker.get(sample)
        if maker is None:
            self._maker[sample] = job
        return maker

    def leave(self, job: Job) -> None:
        """Forget what a job has had; it has given up all it asked for."""
        self._instances.leave(job)

    def drop(self, recipe: Recipe | None = None) -> None:
        """Drop all samples that nobody uses, or those of a recipe."""
        for sample in self._cache.samples():
            if not self._cache.pinned(sample) and (
                recipe is None or 0 <= self._instances.home(sample) - recipe.base < recipe.row_limit
            ):
                self._cache.drop(sample)
                self._forget([sample])

    # What workers report.

    def prepared(self, sample: int) -> None:
        """Note that a sample is here."""
        preparation = self._ended(sample)
        self._cache.prepared(sample)
        for (_, position), reader in preparation.waiting.items():
            reader.unready.remove(position)

    def sized(self, sample: int, size_bytes: int) -> Recipe:
        """Note that a sample needs another slot than it has; return its recipe."""
        preparation = self._underway[sample]
        self._abandon(sample, preparation)
        if size_bytes > self._cache.capacity_bytes:
            reason = f"the sample has {size_bytes} bytes and the budget is "
            self.failed(sample, f"{reason}{self._cache.capacity_bytes}")
        else:
            self._unplaced[sample] = size_bytes
            preparation.recipe.size_bytes = max(preparation.recipe.size_bytes, round_up(size_bytes))
        return preparation.recipe

    def failed(self, sample: int, reason: str) -> None:
        """Note that a sample cannot be had."""
        preparation = self._ended(sample)
        self._abandon(sample, preparation)
        for (_, position), reader in preparation.waiting.items():
            reader.unready.remove(position)
            reader.failed[position] = reason
        self._instances.forget(sample)

    def lost(self, sample: int, reason: str) -> None:
        """Have a sample prepared again whose worker died, if somebody waits and it has a try."""
        preparation = self._underway[sample]
        if not preparation.waiting:
            self.failed(sample, reason)
        elif preparation.tries == TRIES:
            self.failed(sample, f"{reason}, {TRIES} times")
        else:
            preparation.tries += 1
            self._unplaced.pop(sample, None)
            self._prepare(sample, preparation)

    def place(self) -> None:
        """Give samples that were sized their slots where there is room; those waited for first."""
        waited_for = [sample for sample in self._unplaced if self._underway[sample].waiting]
        others = [sample for sample in self._unplaced if not self._underway[sample].waiting]
        for sample in waited_for + others:
            size_bytes, preparation = self._unplaced[sample], self._underway[sample]
            offset = self._reserve(sample, size_bytes, reclaim=bool(preparation.waiting))
            if offset is not None:
                del self._unplaced[sample]
                for reader in preparation.waiting.values():
                    self._cache.lease(reader.job, sample)
                self._out.append(Place(sample, offset, size_bytes))

    def _ended(self, sample: int) -> _Preparation:
        preparation = self._underway.pop(sample)
        self._unplaced.pop(sample, None)
        preparation.recipe.underway -= 1
        return preparation

    def _abandon(self, sample: int, preparation: _Preparation) -> None:
        """Free the slot of a preparation, if it has one."""
        if self._cache.has(sample):
            for reader in preparation.waiting.values():
                self._cache.release(reader.job, sample)
            self._cache.abandon(sample)

    # Preparing.

    def _instance(self, reader: Reader, home: int) -> int:
        """Return a sample of the row that the job has never had."""
        sample = self._instances.new_to(reader.job, home)
        if sample is not None:
            return sample
        for stale in self._instances.all_of(home):
            if stale not in self._underway and not self._cache.pinned(stale):
                self._cache.drop(stale)
                self._forget([stale])
                if stale == home:
                    return home
        return self._instances.add_extra(home)

    def _start(self, reader: Reader, sample: int, position: int, home: int) -> _Preparation | None:
        """Start a preparation, with a slot if the size of the recipe's samples is known."""
        recipe = reader.recipe
        size_bytes = recipe.size_bytes
        if size_bytes:
            within_share = reader.window < reader.share
            if not within_share and not self._spare(size_bytes):
                return None
            if self._reserve(sample, size_bytes, within_share) is None:
                return None
        elif recipe.underway:
            return None  # the first sample tells the size
        preparation = _Preparation(recipe, home - recipe.base, reader.job, position)
        self._underway[sample] = preparation
        recipe.underway += 1
        self._prepare(sample, preparation)
        return preparation

    def _prepare(self, sample: int, preparation: _Preparation) -> None:
        offset, size_bytes = self._cache.place(sample) if self._cache.has(sample) else (-1, 0)
        self._out.append(
            Prepare(
                sample,
                preparation.recipe.name,
                preparation.row,
                preparation.job,
                preparation.position,
                offset,
                size_bytes,
            )
        )

    # Room.

    def _reserve(self, sample: int, size_bytes: int, reclaim: bool) -> int | None:
        """Reserve a slot; with `reclaim`, readers give back what they have beyond their shares."""
        while True:
            try:
                offset, evicted = self._cache.reserve(sample, size_bytes)
            except CacheFull:
                if reclaim and self._reclaim():
                    continue
                return None
            self._forget(evicted)
            return offset

    def _spare(self, size_bytes: int) -> bool:
        """Tell whether there is room beyond what readers are still owed."""
        left = self._cache.capacity_bytes - self._cache.pinned_bytes - size_bytes
        for reader in self._readers.values():
            owed = reader.share - reader.window
            if owed > 0:
                left -= owed * reader.recipe.size_bytes
        return left >= 0

    def _reclaim(self) -> bool:
        """Take the farthest sample from the reader with most beyond its share, if any."""
        beyond = [
            (reader.window - reader.share, number, reader)
            for number, reader in enumerate(self._readers.values())
            if reader.samples and reader.window > reader.share
        ]
        for _, _, reader in sorted(beyond, reverse=True):
            sample = reader.samples[-1]
            if sample not in self._underway or sample in self._unplaced:
                self.give_up(reader)
                return True
        return False

    def _forget(self, samples: list[int]) -> None:
        for sample in samples:
            self._instances.forget(sample)
            self._maker.pop(sample, None)
        if samples:
            self._out.append(Forget(tuple(samples)))
