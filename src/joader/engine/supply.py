"""From planned to leased: samples are asked for, prepared, placed, and given up to make room.

**Memory.** Every reader is guaranteed its share of samples. What it asks for beyond that may not
use what others are still owed, and is given back, the farthest first, when a reader within its
share finds no room.

**Preparations.** A second taker of a sample in preparation waits for it: equal requests in flight
are one. A slot is reserved before the work starts, as large as the latest samples were (sizes.py),
and cut to size when the sample is there; the first sample of a recipe, and one that turns out
larger, says `Sized` and gets its `Place`. A worker's death costs what it was at one try of two. A
slot is a worker's until it reports, whoever has left meanwhile.

**Own parts.** A reader with a part of its own gets samples that are its alone, each made from a
shared one, its *source*. The source is held for the workers until the own part is reported, and
what was made of it is dropped as soon as the reader lets it go. An own part is a *follower* of its
source while that is in preparation: they are done in one visit.

A preparation is *at work* in a worker, or *unplaced*: sized, and the worker waits for its slot.
Not here: who may ask now (engine.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from joader.cache import Cache, round_up
from joader.engine.instances import Instances
from joader.engine.reader import Reader
from joader.engine.recipes import Recipe
from joader.engine.sizes import Sizes
from joader.errors import CacheFull
from joader.messages import Compare, Drop, Finish, Forget, Instruction, Job, Place, Prepare
from joader.schedule.shares import spare_bytes, who_gives_back

TRIES = 2
# Up to so many samples are released one by one: arrays cost more.
FEW = 4
# Rows that a job's workers compare before it takes what others have prepared.
INSPECTED = 3
# What of `times` says how often a position came before; above that, how often it was begun anew.
_TIMES = (1 << 24) - 1
# Holds the sources of own parts that are in workers' hands; no job has this number.
WORKERS = -1


@dataclass(eq=False, slots=True)
class _Origin:
    """One preparation of a row, and for which job it counts, once somebody got it."""

    job: Job | None = None
    reads_for: str = ""  # of fresh samples: for whom it was made, and where it starts
    start: tuple[int, int, int] = (0, 0, 0)


@dataclass(eq=False, slots=True)
class _Preparation:
    """A sample on its way: for whom first, and which positions of which jobs wait for it."""

    recipe: Recipe
    row: int
    job: Job
    origin: tuple[int, int, int]  # where its random numbers start: see Prepare
    sizes: Sizes
    source: int | None = None  # of an own part
    waiting: dict[tuple[Job, int], Reader] = field(default_factory=dict)
    followers: dict[int, None] = field(default_factory=dict)  # own parts, in order
    tries: int = 1
    moved: bool = False  # it is another's, whose worker did not answer


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
        self._again: dict[int, str] = {}  # lost with their worker, and what to say of them
        self._late: set[int] = set()  # in the hands of workers that do not answer
        self._instances = Instances()
        self._origin: dict[int, _Origin] = {}  # of samples that are here
        self._source: dict[int, int] = {}  # of own parts that are here or on their way
        self._holding = False  # whether WORKERS is known to the cache
        self._used: set[tuple[int, int, int]] = set()  # see _origin_of
        self.wasted = 0  # samples that were prepared ahead and went before anybody got them

    @property
    def at_work(self) -> bool:
        """Whether some worker will report without being told anything more."""
        blocked = sum(1 + len(self._underway[sample].followers) for sample in self._unplaced)
        return len(self._underway) > blocked

    def is_own(self, sample: int) -> bool:
        """Tell whether a sample is a job's own part of another."""
        return sample in self._source

    def waits_for(self, sample: int) -> tuple[int, int]:
        """Return what a sample in preparation waits for, itself or its source, and the row."""
        preparation = self._underway[sample]
        source = preparation.source
        return (source if source in self._underway and source is not None else sample), (
            preparation.row
        )

    # Asking and giving up.

    def ask(self, reader: Reader) -> bool:
        """Ask for the reader's next planned sample, if there is room for it."""
        place = len(reader.window.samples)
        position, home = reader.window.places[place], reader.window.homes[place]
        ask = self._ask_own if reader.terms.own else self._ask_shared
        sample = ask(reader, position, home)
        if sample is None:
            return False
        if reader.terms.fresh:
            self._take(reader, position, self._source.get(sample, sample))
        reader.window.samples.append(sample)
        return True

    def _take(self, reader: Reader, position: int, sample: int) -> None:
        """Note who takes a fresh instance, and if it was begun for another place of its loader.

        That place must then get another: see `_origin_of`.
        """
        self._instances.take(reader.terms.reads_for, sample)
        preparation = self._underway.get(sample)
        if preparation is not None:
            maker = self._readers.get(preparation.job)
            whom, start = maker.terms.reads_for if maker else "", preparation.origin
        else:
            whom, start = self._origin[sample].reads_for, self._origin[sample].start
        key, place, times = reader.origin(position)
        mine = start[:2] == (key, place) and start[2] & _TIMES == times
        if whom == reader.terms.reads_for and not mine:
            self._used.add(start)

    def ask_ready(self, reader: Reader, most: int) -> int:
        """Ask for the reader's next planned samples that are here, up to the first that is not."""
        if reader.terms.own or reader.terms.fresh:
            return 0
        place = len(reader.window.samples)
        homes = reader.window.homes[place : place + most]
        count = self._cache.lease_ready(reader.job, homes)
        reader.window.samples += homes[:count]
        return count

    def ask_absent(self, reader: Reader, most: int) -> int:
        """Ask for the reader's next planned samples that are nowhere, where there is much room.

        As `ask` for each of them, in half the time.
        """
        size_bytes = reader.recipe.sizes.slot_bytes
        if reader.terms.own or reader.terms.fresh or not size_bytes:
            return 0
        place = len(reader.window.samples)
        homes: dict[int, int] = {}  # with their positions
        for at in range(place, min(place + most, len(reader.window.homes))):
            home = reader.window.homes[at]
            if home in homes or home in self._underway or self._cache.has(home):
                break
            homes[home] = reader.window.places[at]
        if len(homes) <= FEW or not self._spare(len(homes) * round_up(size_bytes)):
            return 0
        samples = list(homes)
        offsets = self._cache.reserve_run(reader.job, samples, size_bytes)
        if not offsets:
            return 0
        recipe, job = reader.recipe, reader.job
        rows = tuple(home - recipe.base for home in samples)
        origins = [reader.origin(position) for position in homes.values()]
        for home, position, row, origin in zip(samples, homes.values(), rows, origins, strict=True):
            preparation = _Preparation(recipe, row, job, origin, recipe.sizes)
            preparation.waiting[job, position] = reader
            self._underway[home] = preparation
        _, positions, times = zip(*origins, strict=True)
        self._out.append(
            Prepare(
                recipe.name,
                job,
                reader.key,
                samples=tuple(samples),
                rows=rows,
                positions=positions,
                times=times,
                offsets=tuple(offsets),
                sizes=(offsets.step,) * len(samples),
            )
        )
        recipe.underway += len(homes)
        reader.window.unready.update(homes.values())
        reader.window.samples += samples
        return len(samples)

    def _ask_shared(self, reader: Reader, position: int, home: int) -> int | None:
        sample = self._have_one(reader, position, home)
        if sample is None:
            return None
        preparation = self._underway.get(sample)
        if preparation is not None:
            preparation.waiting[reader.job, position] = reader
            reader.window.unready.add(position)
        if self._cache.has(sample):
            self._cache.lease(reader.job, sample)
        return sample

    def _ask_own(self, reader: Reader, position: int, home: int) -> int | None:
        size_bytes = reader.sizes.slot_bytes
        if not size_bytes and reader.window.unready:
            return None  # the first tells the size
        sample = self._instances.add_own(home)
        placed = size_bytes > 0 and self._room_for(reader, sample, size_bytes)
        if size_bytes and not placed and not self._may_go_without(reader):
            self._instances.forget(sample)
            return None
        source = self._have_one(reader, position, home)  # last: room for the own part may cost one
        if source is None:
            if placed:
                self._cache.abandon(sample)
            self._forget_numbers([sample])
            return None
        row, origin = home - reader.recipe.base, reader.origin(position)
        preparation = _Preparation(reader.recipe, row, reader.job, origin, reader.sizes, source)
        preparation.waiting[reader.job, position] = reader
        reader.window.unready.add(position)
        reader.recipe.underway += 1
        self._underway[sample] = preparation
        self._source[sample] = source
        if source in self._underway:
            self._underway[source].followers[sample] = None
        if self._cache.has(source):
            self._hold(source)
        if placed:
            self._cache.lease(reader.job, sample)
        self._say(sample, preparation)
        return sample

    def give_up(self, reader: Reader) -> None:
        """Give up the farthest sample the reader asked for; it stays planned."""
        position, sample = reader.window.unask()
        if reader.window.failed.pop(position, None) is not None:
            return
        if position in reader.window.unready:
            reader.window.unready.remove(position)
            del self._underway[sample].waiting[reader.job, position]
        if self._cache.has(sample):
            self._cache.release(reader.job, sample)
        if reader.terms.fresh:
            self._instances.put_back(reader.terms.reads_for, self._source.get(sample, sample))
        self._drop_if_own(sample)

    def give_up_all(self, reader: Reader) -> None:
        """Give up all the reader asked for."""
        while reader.window.samples:
            self.give_up(reader)

    def release(self, job: Job, samples: list[int]) -> None:
        """Note that a job has copied these samples."""
        own = [sample for sample in samples if self._instances.is_own(sample)]
        shared = samples
        if own:
            shared = [sample for sample in samples if not self._instances.is_own(sample)]
            self._forget([sample for sample in own if self._cache.use_up(job, sample)])
        if len(shared) > FEW:
            self._cache.release_each(job, shared)
        else:
            for sample in shared:
                self._cache.release(job, sample)

    def claim(self, job: Job, samples: list[int]) -> tuple[int, int]:
        """Count deliveries: the first of a preparation is "prepared", every other a hit.

        Return how many count as prepared for this job, and how many were prepared for another.
        """
        prepared = shared = 0
        for sample in samples:
            origin = self._origin[sample]
            if origin.job is None:
                origin.job = job
                prepared += 1
            elif origin.job != job:
                shared += 1
        return prepared, shared

    def drop(self, recipe: Recipe | None = None) -> None:
        """Drop all samples that nobody uses, or those of a recipe."""
        gone = [
            sample
            for sample in self._cache.samples()
            if not self._cache.pinned(sample) and (recipe is None or self._is_of(sample, recipe))
        ]
        for sample in gone:
            self._cache.drop(sample)
        self._forget(gone)

    def holds(self, recipe: Recipe) -> bool:
        """Tell whether samples of a recipe are here."""
        return any(self._is_of(sample, recipe) for sample in self._cache.samples())

    def _is_of(self, sample: int, recipe: Recipe) -> bool:
        return 0 <= self._instances.home(sample) - recipe.base < recipe.row_limit

    def inspect(self, reader: Reader) -> None:
        """Have a job's workers compare a few rows that are here; the job waits for the outcome."""
        for sample in self._cache.samples():
            if len(reader.inspected) == INSPECTED:
                break
            recipe, row = reader.recipe, sample - reader.recipe.base
            ready = sample not in self._underway and not self._instances.is_own(sample)
            if ready and 0 <= row < recipe.row_limit and reader.rows.has(row):
                reader.inspected.add(sample)
        for sample in reader.inspected:
            self._hold(sample)
            recipe, offset = reader.recipe, self._cache.place(sample)[0]
            row = sample - recipe.base
            self._out.append(Compare(reader.job, sample, recipe.name, row, offset))

    def compared(self, reader: Reader, sample: int) -> None:
        """Let go of a row that a job's worker has compared."""
        if sample in reader.inspected:
            reader.inspected.remove(sample)
            self._cache.release(WORKERS, sample)

    def take_what_is_here(self, reader: Reader, count: int) -> list[int]:
        """Lease what is here of a reader's next samples; return the places of what is not.

        For a reader that reads by itself: its samples that are not here have the number -1.
        """
        absent = []
        for place, home in enumerate(reader.window.homes[:count]):
            sample: int | None = home
            if reader.terms.fresh:
                sample = (
                    None
                    if reader.terms.private
                    else self._instances.new_to(reader.terms.reads_for, home)
                )
            if sample is None or sample in self._underway or not self._cache.has(sample):
                absent.append(place)
                reader.window.samples.append(-1)
                continue
            self._cache.lease(reader.job, sample)
            if reader.terms.fresh:
                self._take(reader, reader.window.places[place], sample)
            reader.window.samples.append(sample)
        return absent

    # What workers report.

    def prepared(self, samples: Sequence[int], size_bytes: int) -> None:
        """Note that samples are here."""
        if len(samples) > 1 and not any(map(self._instances.is_own, samples)):
            self._prepared_together(samples, size_bytes)
            return
        for sample in samples:
            self._prepared_alone(sample, size_bytes)

    def _prepared_alone(self, sample: int, size_bytes: int) -> None:
        preparation = self._ended(sample)
        preparation.sizes.note(self._cache.prepared(sample, size_bytes))
        self._origin[sample] = self._new_origin(preparation)
        if preparation.source is not None:
            self._origin[sample] = self._origin[preparation.source]
            self._let_source_go(sample, preparation.source)
        for (_, position), reader in preparation.waiting.items():
            reader.window.unready.remove(position)
        self._drop_if_own(sample)

    def _prepared_together(self, samples: Sequence[int], size_bytes: int) -> None:
        """Do the same for several shared samples, in half the time."""
        for sample, taken_bytes in zip(
            samples, self._cache.prepared_each(samples, size_bytes), strict=True
        ):
            preparation = self._ended(sample)
            preparation.sizes.note(taken_bytes)
            self._origin[sample] = self._new_origin(preparation)
            for (_, position), reader in preparation.waiting.items():
                reader.window.unready.remove(position)

    def _new_origin(self, preparation: _Preparation) -> _Origin:
        reader = self._readers.get(preparation.job)
        if reader is None or not reader.terms.fresh:
            return _Origin()
        return _Origin(None, reader.terms.reads_for, preparation.origin)

    def sized(self, sample: int, size_bytes: int) -> Recipe:
        """Note that a sample needs another slot than it has; return its recipe."""
        preparation = self._underway[sample]
        self._late.discard(sample)
        self._abandon(sample, preparation)
        if size_bytes > self._cache.capacity_bytes:
            reason = f"the sample has {size_bytes} bytes and the budget is "
            advice = "make it smaller in prepare=, or give the daemon more (joader up --memory)"
            self.failed(sample, f"{reason}{self._cache.capacity_bytes}; {advice}")
        else:
            self._unplaced[sample] = size_bytes
            if not preparation.sizes.slot_bytes:
                preparation.sizes.note(size_bytes)
        return preparation.recipe

    def failed(self, sample: int, reason: str) -> None:
        """Note that a sample cannot be had, nor what was to be made of it."""
        preparation = self._ended(sample)
        self._abandon(sample, preparation)
        if preparation.source is not None:
            self._let_source_go(sample, preparation.source)
        for (_, position), reader in preparation.waiting.items():
            reader.window.unready.remove(position)
            reader.window.failed[position] = reason
        self._forget_numbers([sample])
        for follower in list(preparation.followers):
            self.failed(follower, reason)

    def lost(self, samples: tuple[int, ...], reason: str, blamed: bool = True) -> None:
        """Note that samples went with their worker: they are prepared again if they have a try.

        It costs a try only where they may be the cause.
        """
        for sample in sorted(samples, key=self.is_own):  # sources first: what fails takes followers
            preparation = self._underway.get(sample)
            if preparation is None:
                continue
            if self._wanted(sample) and preparation.tries == TRIES and blamed:
                what, *where = reason.splitlines()
                self.failed(sample, "\n".join([f"{what}, {TRIES} times", *where]))
            else:
                preparation.tries += blamed
                self._unplaced.pop(sample, None)
                self._late.discard(sample)
                self._again[sample] = reason

    def late(self, samples: tuple[int, ...]) -> None:
        """Have what others wait for prepared once more, in another slot.

        The slot of a late worker stays its own until it reports or is dead: it may be stopped in
        the middle of a write. So who waits gets another number, as for a further instance; what the
        late worker brings in the end is then there for whoever asks next.
        """
        for sample in samples:
            preparation = self._underway.get(sample)
            is_own = preparation is None or preparation.source is not None
            if preparation is None or is_own or sample in self._again:
                continue  # an own part can be done by nobody else
            # Own parts that the worker has not got are told anew, whatever they are made of now.
            own = [one for one in preparation.followers if one not in samples]
            self._again |= dict.fromkeys(own, "nobody waits for it")
            if preparation.moved:
                continue  # a row that holds the interpreter would go from worker to worker
            self._late.add(sample)
            wanted = preparation.waiting or any(map(self._wanted, own))
            if wanted and sample not in self._unplaced:
                self._move_to_another(sample, preparation, own)

    def _move_to_another(self, sample: int, preparation: _Preparation, own: list[int]) -> None:
        """Let who waits for a sample wait for another preparation of the same row.

        So do these own parts, which are made of that one then.
        """
        extra = self._instances.add_extra(self._instances.home(sample))
        size_bytes = preparation.sizes.slot_bytes
        if size_bytes and self._reserve(extra, size_bytes, reclaim=True) is None:
            self._instances.forget(extra)
            return
        again = _Preparation(
            preparation.recipe,
            preparation.row,
            preparation.job,
            self._begun_anew(preparation),
            preparation.sizes,
            waiting=preparation.waiting,
            moved=True,
        )
        preparation.waiting = {}
        for (job, position), reader in again.waiting.items():
            reader.window.samples[reader.window.places.index(position)] = extra
            if self._cache.has(sample):
                self._cache.release(job, sample)
            if self._cache.has(extra):
                self._cache.lease(job, extra)
            if reader.terms.fresh:
                self._instances.take(reader.terms.reads_for, extra)
        for follower in own:
            self._follow(follower, preparation, sample, again, extra)
        self._underway[extra] = again
        again.recipe.underway += 1
        self._say(extra, again)

    def _begun_anew(self, preparation: _Preparation) -> tuple[int, int, int]:
        """Return where a second preparation starts: if fresh, not where the first does.

        The first is still to come, and may go to somebody who gets the second, too.
        """
        maker = self._readers.get(preparation.job)
        key, place, times = preparation.origin
        private = maker is not None and maker.terms.private
        fresh = not preparation.recipe.kept and not private
        return (key, place, times + _TIMES + 1) if fresh else preparation.origin

    def _follow(
        self, own: int, old: _Preparation, source: int, new: _Preparation, extra: int
    ) -> None:
        """Let an own part be made of another preparation of its row."""
        del old.followers[own]
        new.followers[own] = None
        self._underway[own].source = self._source[own] = extra
        if self._cache.has(source):
            self._cache.release(WORKERS, source)
        if self._cache.has(extra):
            self._hold(extra)
        for reader in self._underway[own].waiting.values():
            if reader.terms.fresh:
                self._instances.take(reader.terms.reads_for, extra)

    def prepare_again(self) -> None:
        """Say once more what was lost, if somebody still waits: who did may have left meanwhile."""
        for sample in sorted(self._again, key=self.is_own):
            reason = self._again.pop(sample, None)
            if reason is None:
                continue  # it has failed with its source
            if self._wanted(sample):
                self._say(sample, self._underway[sample])
            else:
                self.failed(sample, reason)

    def place(self) -> None:
        """Give samples that were sized their slots where there is room; drop what nobody wants."""
        for sample in list(self._unplaced):
            if sample not in self._unplaced:
                continue  # another's room was made of it
            size_bytes, preparation = self._unplaced[sample], self._underway[sample]
            wanted, offset = self._wanted(sample), None
            if wanted or self._cache.needs(sample):
                offset = self._reserve(sample, size_bytes, reclaim=wanted)
            if not wanted and offset is None:
                self.failed(sample, "nobody wants it any more")
                self._out.append(Drop((sample,)))
            elif offset is not None:
                del self._unplaced[sample]
                for reader in preparation.waiting.values():
                    self._cache.lease(reader.job, sample)
                for _ in preparation.followers:
                    self._hold(sample)
                self._out.append(Place((sample,), (offset,), (size_bytes,)))

    def _wanted(self, sample: int) -> bool:
        """Tell whether somebody waits for a sample in preparation, or for what is made of it."""
        preparation = self._underway[sample]
        return bool(preparation.waiting) or any(map(self._wanted, preparation.followers))

    def _ended(self, sample: int) -> _Preparation:
        preparation = self._underway.pop(sample)
        self._unplaced.pop(sample, None)
        self._again.pop(sample, None)
        self._late.discard(sample)
        preparation.recipe.underway -= 1
        return preparation

    def _abandon(self, sample: int, preparation: _Preparation) -> None:
        """Free the slot of a preparation, if it has one."""
        if self._cache.has(sample):
            for reader in preparation.waiting.values():
                self._cache.release(reader.job, sample)
            for _ in preparation.followers:
                self._cache.release(WORKERS, sample)
            self._cache.abandon(sample)

    # Sources of own parts.

    def _hold(self, source: int) -> None:
        if not self._holding:
            self._cache.begin(WORKERS, ())
            self._holding = True
        self._cache.lease(WORKERS, source)

    def _let_source_go(self, sample: int, source: int) -> None:
        """End the hold an own part has on its source, if that is here."""
        underway = self._underway.get(source)
        if underway is not None:
            underway.followers.pop(sample, None)
        if self._cache.has(source):
            self._cache.release(WORKERS, source)
            self._drop_if_own(source)

    def _drop_if_own(self, sample: int) -> None:
        """Drop a sample that is made for one job alone and that nobody holds any more."""
        if (
            self._instances.is_own(sample)
            and sample not in self._underway
            and self._cache.has(sample)
            and not self._cache.pinned(sample)
        ):
            self._drop(sample)

    # Preparing.

    def _have_one(self, reader: Reader, position: int, home: int) -> int | None:
        """Have a sample of a row here or on its way that the reader may get, and return it."""
        sample = self._instance(reader, home) if reader.terms.fresh else home
        if sample in self._late:
            sample = self._not_late(reader, home)
        if self._have(reader, sample, position, home):
            return sample
        self._instances.forget(sample)  # a number that was to be its
        return None

    def _not_late(self, reader: Reader, home: int) -> int:
        """Return a sample of the row for which nobody has to wait for a worker that is late."""
        for other in self._instances.all_of(home):
            known = other in self._underway or self._cache.has(other)
            had = reader.terms.fresh and self._instances.has_had(reader.terms.reads_for, other)
            if known and not had and other not in self._late:
                return other
        return self._instances.add_extra(home)

    def _have(self, reader: Reader, sample: int, position: int, home: int) -> bool:
        """Have a sample here or on its way; False where there is no room."""
        if sample in self._underway or self._cache.has(sample):
            return True
        recipe = reader.recipe
        size_bytes = recipe.sizes.slot_bytes
        if size_bytes:
            if not self._room_for(reader, sample, size_bytes) and not self._may_go_without(reader):
                return False
        elif recipe.underway and self._will_tell_size(recipe):
            return False  # the first sample tells the size
        row, origin = home - recipe.base, self._origin_of(reader, position)
        preparation = _Preparation(recipe, row, reader.job, origin, recipe.sizes)
        self._underway[sample] = preparation
        recipe.underway += 1
        self._say(sample, preparation)
        return True

    def _will_tell_size(self, recipe: Recipe) -> bool:
        """Tell whether a sample of a recipe is on its way, but for those of who does not answer."""
        return not self._late or any(
            underway.recipe is recipe and not {sample, underway.source} & self._late
            for sample, underway in self._underway.items()
        )

    def _origin_of(self, reader: Reader, position: int) -> tuple[int, int, int]:
        """Return where random numbers start; never twice from one place, for what is fresh.

        A sample that a pass gave up may have gone to another pass of its loader. Prepared for the
        first again, it must be another; if nobody got it, it is as it would have been.
        """
        key, place, times = reader.origin(position)
        while self._used and (key, place, times) in self._used:
            times += _TIMES + 1
        return key, place, times

    def forget_pass(self, key: int) -> None:
        """Note that nothing will be prepared any more for the pass of this key."""
        self._used = {start for start in self._used if start[0] != key}

    def _instance(self, reader: Reader, home: int) -> int:
        """Return a sample of the row that the job has never had."""
        if reader.terms.private:
            return self._instances.add_own(home)
        sample = self._instances.new_to(reader.terms.reads_for, home)
        if sample is not None:
            return sample
        for stale in self._instances.all_of(home):
            if stale not in self._underway and not self._cache.pinned(stale):
                self._drop(stale)
                if stale == home:
                    return home
        return self._instances.add_extra(home)

    def _say(self, sample: int, preparation: _Preparation) -> None:
        offset, size_bytes = self._cache.place(sample) if self._cache.has(sample) else (-1, 0)
        job = preparation.job
        if job not in self._readers and preparation.waiting:  # it has left; another waits
            job = preparation.job = next(iter(preparation.waiting))[0]
        key, position, times = preparation.origin
        source = preparation.source
        if source is None:
            self._out.append(
                Prepare(
                    preparation.recipe.name,
                    job,
                    key,
                    samples=(sample,),
                    rows=(preparation.row,),
                    positions=(position,),
                    times=(times,),
                    offsets=(offset,),
                    sizes=(size_bytes,),
                )
            )
            return
        source_offset = -1 if source in self._underway else self._cache.place(source)[0]
        self._out.append(
            Finish(
                job,
                key,
                samples=(sample,),
                sources=(source,),
                source_offsets=(source_offset,),
                positions=(position,),
                times=(times,),
                offsets=(offset,),
                sizes=(size_bytes,),
            )
        )

    # Room.

    def _room_for(self, reader: Reader, sample: int, size_bytes: int) -> bool:
        """Reserve a slot for what a reader asks for, by its share or beyond it."""
        within_share = reader.window.size < reader.share
        if not within_share and not self._spare(size_bytes):
            return False
        return self._reserve(sample, size_bytes, within_share) is not None

    def _reserve(self, sample: int, size_bytes: int, reclaim: bool) -> int | None:
        """Reserve a slot; with `reclaim`, readers give back what they have beyond their shares."""
        while True:
            try:
                offset, evicted = self._cache.reserve(sample, size_bytes)
            except CacheFull:
                if reclaim and self._reclaim(sample):
                    continue
                return None
            self._forget(evicted)
            return offset

    def _somebody_waits_for_room(self) -> bool:
        return bool(self._unplaced) and any(map(self._wanted, self._unplaced))

    def _may_go_without(self, reader: Reader) -> bool:
        """Tell whether a reader may have a sample prepared without a slot: its size is then known.

        For a reader that is stuck: what is reserved may be more than the sample will need.
        """
        return reader.stuck and not self._somebody_waits_for_room()

    def _spare(self, size_bytes: int) -> bool:
        """Tell whether there is room beyond what readers are still owed, and who waits for room."""
        if self._somebody_waits_for_room():
            return False
        free_bytes = self._cache.capacity_bytes - self._cache.pinned_bytes - size_bytes
        return spare_bytes(free_bytes, (one.holding for one in self._readers.values())) >= 0

    def _reclaim(self, wanted: int) -> bool:
        """Take the farthest sample from the reader with most beyond its share, but not this."""
        asking = (one for one in self._readers.values() if one.window.samples)
        for reader in who_gives_back((one.holding, one) for one in asking):
            sample = reader.window.samples[-1]
            if sample != wanted and (sample not in self._underway or sample in self._unplaced):
                self.give_up(reader)
                return True
        return False

    def _drop(self, sample: int) -> None:
        self._cache.drop(sample)
        self._forget([sample])

    def _forget(self, samples: list[int]) -> None:
        self._forget_numbers(samples)
        if samples:
            self._out.append(Forget(tuple(samples)))

    def _forget_numbers(self, samples: list[int]) -> None:
        for sample in samples:
            self._instances.forget(sample)
            origin = self._origin.pop(sample, None)
            if origin is not None and origin.job is None and sample not in self._source:
                self.wasted += 1
            self._source.pop(sample, None)
