"""From planned to leased: what jobs ask for, give up and let go.

**Own parts.** A reader with a part of its own gets samples that are its alone, each made from a
shared one, its *source*, and dropped as soon as the reader lets it go. An own part is a *follower*
of its source while that is in preparation: they are done in one visit.

Not here: who may ask now (engine.py), what workers report (preparations.py), room (room.py).
"""

from joader.cache import round_up
from joader.engine.plan import Origin as Start
from joader.engine.preparations import TIMES
from joader.engine.reader import Reader
from joader.engine.recipes import Recipe
from joader.engine.room import Room
from joader.engine.stock import WORKERS, Preparation, Stock
from joader.messages import Compare, Job, Prepare
from joader.schedule.turns import TURN, Turns

# Up to so many samples are released one by one: arrays cost more.
FEW = 4
# Rows that a job's workers compare before it takes what others have prepared.
INSPECTED = 3


class Supply:
    """What readers get of a stock."""

    def __init__(self, stock: Stock, room: Room) -> None:
        """Take from this stock."""
        self._stock, self._room = stock, room
        self._used: set[Start] = set()  # see _origin_of

    def ask_in_turns(self) -> None:
        """Ask for planned samples, always for the job that will run dry first."""
        stuck = any(reader.stuck for reader in self._stock.readers.values())
        turns = Turns(
            (reader.lasts_s, reader)
            for reader in self._stock.readers.values()
            if reader.may_ask > 0 and (reader.stuck or not stuck)
        )
        while turns:
            reader = turns.next
            most = reader.may_ask if turns.only_one else min(TURN, reader.may_ask)
            asked = self.ask_ready(reader, most)
            asked += self.ask_absent(reader, most - asked)
            while asked < most and self.ask(reader):
                asked += 1
            if asked == TURN:
                turns.again(reader.lasts_s)
            else:
                turns.leave()

    def ask(self, reader: Reader) -> bool:
        """Ask for the reader's next planned sample, if there is room for it."""
        place = len(reader.window.samples)
        position, home = reader.window.places[place], reader.window.homes[place]
        ask = self._ask_own if reader.terms.own else self._ask_shared
        sample = ask(reader, position, home)
        if sample is None:
            return False
        if reader.terms.fresh:
            self._take(reader, position, self._stock.source.get(sample, sample))
        reader.window.samples.append(sample)
        return True

    def _take(self, reader: Reader, position: int, sample: int) -> None:
        """Note who takes a fresh instance, and if it was begun for another place of its loader.

        That place must then get another: see `_origin_of`.
        """
        self._stock.instances.take(reader.terms.reads_for, sample)
        preparation = self._stock.underway.get(sample)
        if preparation is not None:
            maker = self._stock.readers.get(preparation.job)
            whom, start = maker.terms.reads_for if maker else "", preparation.origin
        else:
            whom, start = self._stock.origin[sample].reads_for, self._stock.origin[sample].start
        key, place, times = reader.origin(position)
        mine = start[:2] == (key, place) and start[2] & TIMES == times
        if whom == reader.terms.reads_for and not mine:
            self._used.add(start)

    def ask_ready(self, reader: Reader, most: int) -> int:
        """Ask for the reader's next planned samples that are here, up to the first that is not."""
        if reader.terms.own or reader.terms.fresh:
            return 0
        place = len(reader.window.samples)
        homes = reader.window.homes[place : place + most]
        count = self._stock.cache.lease_ready(reader.job, homes)
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
            if home in homes or home in self._stock.underway or self._stock.cache.has(home):
                break
            homes[home] = reader.window.places[at]
        if len(homes) <= FEW or not self._room.spare(len(homes) * round_up(size_bytes)):
            return 0
        samples = list(homes)
        offsets = self._stock.cache.reserve_run(reader.job, samples, size_bytes)
        if not offsets:
            return 0
        recipe, job = reader.recipe, reader.job
        rows = tuple(home - recipe.base for home in samples)
        origins = [reader.origin(position) for position in homes.values()]
        for home, position, row, origin in zip(samples, homes.values(), rows, origins, strict=True):
            preparation = Preparation(recipe, row, job, origin, recipe.sizes)
            preparation.waiting[job, position] = reader
            self._stock.underway[home] = preparation
        _, positions, times = zip(*origins, strict=True)
        self._stock.out.append(
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
        preparation = self._stock.underway.get(sample)
        if preparation is not None:
            preparation.waiting[reader.job, position] = reader
            reader.window.unready.add(position)
        if self._stock.cache.has(sample):
            self._stock.cache.lease(reader.job, sample)
        return sample

    def _ask_own(self, reader: Reader, position: int, home: int) -> int | None:
        size_bytes = reader.sizes.slot_bytes
        if not size_bytes and reader.window.unready:
            return None  # the first tells the size
        sample = self._stock.instances.add_own(home)
        placed = size_bytes > 0 and self._room.room_for(reader, sample, size_bytes)
        if size_bytes and not placed and not self._room.may_go_without(reader):
            self._stock.instances.forget(sample)
            return None
        source = self._have_one(reader, position, home)  # last: room for the own part may cost one
        if source is None:
            if placed:
                self._stock.cache.abandon(sample)
            self._stock.forget_numbers([sample])
            return None
        row, origin = home - reader.recipe.base, reader.origin(position)
        preparation = Preparation(reader.recipe, row, reader.job, origin, reader.sizes, source)
        preparation.waiting[reader.job, position] = reader
        reader.window.unready.add(position)
        reader.recipe.underway += 1
        self._stock.underway[sample] = preparation
        self._stock.source[sample] = source
        if source in self._stock.underway:
            self._stock.underway[source].followers[sample] = None
        if self._stock.cache.has(source):
            self._stock.hold(source)
        if placed:
            self._stock.cache.lease(reader.job, sample)
        self._stock.say(sample, preparation)
        return sample

    def release(self, job: Job, samples: list[int]) -> None:
        """Note that a job has copied these samples."""
        own = [sample for sample in samples if self._stock.instances.is_own(sample)]
        shared = samples
        if own:
            shared = [sample for sample in samples if not self._stock.instances.is_own(sample)]
            self._stock.forget([sample for sample in own if self._stock.cache.use_up(job, sample)])
        if len(shared) > FEW:
            self._stock.cache.release_each(job, shared)
        else:
            for sample in shared:
                self._stock.cache.release(job, sample)

    def claim(self, job: Job, samples: list[int]) -> tuple[int, int]:
        """Count deliveries: the first of a preparation is "prepared", every other a hit.

        Return how many count as prepared for this job, and how many were prepared for another.
        """
        prepared = shared = 0
        for sample in samples:
            origin = self._stock.origin[sample]
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
            for sample in self._stock.cache.samples()
            if not self._stock.cache.pinned(sample)
            and (recipe is None or self._is_of(sample, recipe))
        ]
        for sample in gone:
            self._stock.cache.drop(sample)
        self._stock.forget(gone)

    def holds(self, recipe: Recipe) -> bool:
        """Tell whether samples of a recipe are here."""
        return any(self._is_of(sample, recipe) for sample in self._stock.cache.samples())

    def _is_of(self, sample: int, recipe: Recipe) -> bool:
        return 0 <= self._stock.instances.home(sample) - recipe.base < recipe.row_limit

    def inspect(self, reader: Reader) -> None:
        """Have a job's workers compare a few rows that are here; the job waits for the outcome."""
        for sample in self._stock.cache.samples():
            if len(reader.inspected) == INSPECTED:
                break
            recipe, row = reader.recipe, sample - reader.recipe.base
            ready = sample not in self._stock.underway and not self._stock.instances.is_own(sample)
            if ready and 0 <= row < recipe.row_limit and reader.rows.has(row):
                reader.inspected.add(sample)
        for sample in reader.inspected:
            self._stock.hold(sample)
            recipe, offset = reader.recipe, self._stock.cache.place(sample)[0]
            row = sample - recipe.base
            self._stock.out.append(Compare(reader.job, sample, recipe.name, row, offset))

    def compared(self, reader: Reader, sample: int) -> None:
        """Let go of a row that a job's worker has compared."""
        if sample in reader.inspected:
            reader.inspected.remove(sample)
            self._stock.cache.release(WORKERS, sample)

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
                    else self._stock.instances.new_to(reader.terms.reads_for, home)
                )
            if (
                sample is None
                or sample in self._stock.underway
                or not self._stock.cache.has(sample)
            ):
                absent.append(place)
                reader.window.samples.append(-1)
                continue
            self._stock.cache.lease(reader.job, sample)
            if reader.terms.fresh:
                self._take(reader, reader.window.places[place], sample)
            reader.window.samples.append(sample)
        return absent

    def _have_one(self, reader: Reader, position: int, home: int) -> int | None:
        """Have a sample of a row here or on its way that the reader may get, and return it."""
        sample = self._instance(reader, home) if reader.terms.fresh else home
        if sample in self._stock.late_ones:
            sample = self._not_late(reader, home)
        if self._have(reader, sample, position, home):
            return sample
        self._stock.instances.forget(sample)  # a number that was to be its
        return None

    def _not_late(self, reader: Reader, home: int) -> int:
        """Return a sample of the row for which nobody has to wait for a worker that is late."""
        for other in self._stock.instances.all_of(home):
            known = other in self._stock.underway or self._stock.cache.has(other)
            had = reader.terms.fresh and self._stock.instances.has_had(
                reader.terms.reads_for, other
            )
            if known and not had and other not in self._stock.late_ones:
                return other
        return self._stock.instances.add_extra(home)

    def _have(self, reader: Reader, sample: int, position: int, home: int) -> bool:
        """Have a sample here or on its way; False where there is no room."""
        if sample in self._stock.underway or self._stock.cache.has(sample):
            return True
        recipe = reader.recipe
        size_bytes = recipe.sizes.slot_bytes
        if size_bytes:
            if not self._room.room_for(
                reader, sample, size_bytes
            ) and not self._room.may_go_without(reader):
                return False
        elif recipe.underway and self._will_tell_size(recipe):
            return False  # the first sample tells the size
        row, origin = home - recipe.base, self._origin_of(reader, position)
        preparation = Preparation(recipe, row, reader.job, origin, recipe.sizes)
        self._stock.underway[sample] = preparation
        recipe.underway += 1
        self._stock.say(sample, preparation)
        return True

    def _will_tell_size(self, recipe: Recipe) -> bool:
        """Tell whether a sample of a recipe is on its way, but for those of who does not answer."""
        return not self._stock.late_ones or any(
            underway.recipe is recipe and not {sample, underway.source} & self._stock.late_ones
            for sample, underway in self._stock.underway.items()
        )

    def _origin_of(self, reader: Reader, position: int) -> Start:
        """Return where random numbers start; never twice from one place, for what is fresh.

        A sample that a pass gave up may have gone to another pass of its loader. Prepared for the
        first again, it must be another; if nobody got it, it is as it would have been.
        """
        key, place, times = reader.origin(position)
        while self._used and (key, place, times) in self._used:
            times += TIMES + 1
        return key, place, times

    def forget_pass(self, key: int) -> None:
        """Note that nothing will be prepared any more for the pass of this key."""
        self._used = {start for start in self._used if start[0] != key}

    def _instance(self, reader: Reader, home: int) -> int:
        """Return a sample of the row that the job has never had."""
        if reader.terms.private:
            return self._stock.instances.add_own(home)
        sample = self._stock.instances.new_to(reader.terms.reads_for, home)
        if sample is not None:
            return sample
        for stale in self._stock.instances.all_of(home):
            if stale not in self._stock.underway and not self._stock.cache.pinned(stale):
                self._stock.drop(stale)
                if stale == home:
                    return home
        return self._stock.instances.add_extra(home)
