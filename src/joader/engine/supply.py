"""From planned to pinned: what jobs ask for.

A reader asks for a stretch of its plan at a time: samples that are ready are pinned for it, those
in preparation are waited for, and the rest is prepared as far as there is room; the stretch ends
before the first row that finds none. Pins come first: a ready sample must not leave for the rest of
the stretch.

**Own parts.** A reader with a part of its own gets samples that are its alone, each made from a
shared one, its *source*, and dropped as soon as the reader releases it. An own part is a *follower*
of its source while that is in preparation: one worker does both. Once memory is full, a row that no
other job needs is prepared *whole*: by one worker, too, but its source never has a slot, because it
would take the slot of a sample that is worth as much.

Not here: what is delivered and given back (deliveries.py), what workers report (preparations.py),
room (room.py).
"""

from collections.abc import Sequence

import numpy as np

from joader.cache import READY
from joader.engine.plan import Origin as Start
from joader.engine.raw_forms import RawForms
from joader.engine.reader import Reader
from joader.engine.recipes import Recipe
from joader.engine.room import Room
from joader.engine.stock import Preparation, Stock
from joader.messages.work import TIMES
from joader.schedule.work.turns import TURN, Turns

# A row of which there is no sample that the reader may get.
_ABSENT = -1
# … and that a worker prepares together with the reader's own part.
_WHOLE = -2
# Up to this number samples are pinned one by one: with arrays, 4 samples cost 8 µs each, not 2; 32
# cost as much, 256 half as much.
FEW = 32
# Rows that are begun while the size of a recipe's samples is not known: workers hold them until
# they have slots.
FIRST_FEW = 8


class Supply:
    """What readers get of a stock."""

    def __init__(self, stock: Stock, room: Room, raws: RawForms) -> None:
        """Take from this stock."""
        self._stock, self._room, self._raws = stock, room, raws
        self._table = stock.table
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
            if self.ask(reader, most) == TURN:
                turns.again(reader.lasts_s)
            else:
                turns.leave()

    def ask(self, reader: Reader, most: int = 1) -> int:
        """Ask for the reader's next planned samples; return how many there is room for."""
        asked = 0
        # More than once: the first samples of a recipe go by themselves, and so do rows that come
        # again.
        while asked < most and (more := self._ask(reader, most - asked)):
            asked += more
        return asked

    def _ask(self, reader: Reader, most: int) -> int:
        window = reader.window
        place = len(window.samples)
        most = _distinct(window.homes[place : place + (1 if reader.stuck else most)])
        positions = window.places[place : place + most]
        homes = window.homes[place : place + most]
        if reader.terms.own:
            samples = self._own_parts(reader, positions, homes)
        else:
            samples = self._have_each(reader, positions, homes)
            self._wait_for(reader, positions, samples)
        window.samples += samples
        return len(samples)

    def _wait_for(self, reader: Reader, positions: list[int], samples: list[int]) -> None:
        """Note that a reader waits for those of the samples that are in preparation."""
        underway, unready = self._stock.underway, reader.window.unready
        for position, sample in zip(positions, samples, strict=False):
            if sample in underway:
                underway[sample].waiting[reader.job, position] = reader
                unready.add(position)

    # Shared samples.

    def _have_each(self, reader: Reader, positions: list[int], homes: list[int]) -> list[int]:
        """Have samples of rows here or on their way, each pinned; up to the first without room."""
        return self._complete(reader, positions, homes, self._find_each(reader, positions, homes))

    def _find_each(self, reader: Reader, positions: list[int], homes: list[int]) -> list[int]:
        """Return a sample of each row that is here or on its way and that the reader may get."""
        if reader.terms.fresh or self._stock.late_ones:
            found = [self._find(reader, *one) for one in zip(positions, homes, strict=True)]
        else:
            found = self._table.firsts_of(homes)
        if not reader.terms.fresh:
            self._stock.instances.vouch(found)
        return found

    def _complete(
        self, reader: Reader, positions: list[int], homes: list[int], found: list[int]
    ) -> list[int]:
        """Pin what was found and have the rest prepared, up to the first without room."""
        absent = [place for place, sample in enumerate(found) if sample == _ABSENT]
        self._pin([sample for sample in found if sample >= 0])
        if not absent:
            return found
        made = self._begin_each(reader, positions, homes, absent)
        for place, sample in zip(absent, made, strict=False):
            found[place] = sample
        end = absent[len(made)] if len(made) < len(absent) else len(found)
        for sample in found[end:]:
            if sample >= 0:
                self._unpin(reader, sample)
        return found[:end]

    def _find(self, reader: Reader, position: int, home: int) -> int:
        """Return a sample of a row that is here or on its way and that the reader may get."""
        fresh, whom = reader.terms.fresh, reader.terms.reads_for
        if reader.terms.private:
            return _ABSENT
        for sample in self._table.all_of(home):
            if sample in self._stock.late_ones:
                continue  # nobody has to wait for a worker that is late
            if fresh and self._stock.instances.has_had(whom, sample):
                # If no other job uses it, another takes its place; a kept one only if there is no
                # room for both.
                kept = not self._stock.instances.is_fresh(sample)
                if self._stock.cache.may_leave(sample) and (not kept or self._stock.cache.is_full):
                    self._stock.drop(sample)
                continue
            if fresh:
                self._take(reader, position, sample)
            return sample
        return _ABSENT

    def _pin(self, samples: list[int]) -> None:
        """Pin samples that are here or on their way."""
        if len(samples) > FEW:
            array = np.array(samples, np.int64)
            if (self._table.state.all[array] == READY).all():
                self._stock.cache.lease_each(array)
                return
        for sample in samples:
            self._stock.cache.lease(sample)

    def _unpin(self, reader: Reader, sample: int) -> None:
        """Unpin a sample that the reader does not get because one before it has no room."""
        if reader.terms.fresh:
            self._stock.instances.put_back(reader.terms.reads_for, sample)
        self._stock.cache.release(sample)

    def _begin_each(
        self, reader: Reader, positions: list[int], homes: list[int], absent: list[int]
    ) -> list[int]:
        """Begin to prepare the rows at these places of a stretch, each pinned, up to the first
        without room."""
        recipe, sizes = reader.recipe, reader.recipe.sizes
        by_right = reader.share - reader.window.size  # places of the stretch
        if not sizes.slot_bytes:
            absent = absent[: self._first_few(recipe, by_right)]
            if not absent:
                return []  # one of the first samples tells the size
        rows = [homes[place] - recipe.base for place in absent]
        needs = [sizes.of(row) for row in rows]
        count = self._allowed(absent, [need or sizes.usual_bytes for need in needs], by_right)
        if not count and self._room.may_go_without(reader):
            count, needs = 1, [0]
        add, own = self._table.add, reader.terms.private
        samples = [add(homes[place], own) for place in absent[:count]]
        rights = sum(1 for place in absent[:count] if place < by_right)
        placed = self._reserve(samples, needs[:count], rights)
        if not placed and samples and self._room.may_go_without(reader):
            placed = 1
        for sample in samples[placed:]:
            self._stock.cache.drop(sample)
        del samples[placed:]
        job, pins = reader.job, self._table.pins.cells
        begun = []
        for place, row, sample in zip(absent, rows, samples, strict=False):
            origin = self._origin_of(reader, positions[place])
            pins[sample] += 1  # as a lease does, of what is in preparation
            begun.append(Preparation(recipe, row, job, origin, sizes))
        if recipe.raw is not None:
            for preparation in begun:
                self._raws.begin(preparation)
        self._stock.begin(samples, begun)
        if reader.terms.fresh:
            self._stock.instances.begin(samples)
            for place, sample in zip(absent, samples, strict=False):
                self._take(reader, positions[place], sample)
        return samples

    def _first_few(self, recipe: Recipe, by_right: int) -> int:
        """Return how many more rows may begin while the size of a sample is not known.

        Not one alone: if that were slow, all would wait for it.
        """
        most = max(1, min(FIRST_FEW, by_right))
        if recipe.underway < most:
            return most - recipe.underway
        return 0 if self._will_tell_size(recipe) else 1

    def _allowed(self, places: list[int], needs: list[int], by_right: int) -> int:
        """Return for how many of these a reader may have room, by its share or beyond it."""
        spare_bytes = self._room.spare_bytes() if places[-1] >= by_right else 0
        for count, (place, need) in enumerate(zip(places, needs, strict=True)):
            if place >= by_right:
                spare_bytes -= need
                if spare_bytes < 0:
                    return count
        return len(places)

    def _reserve(self, samples: list[int], needs: list[int], rights: int) -> int:
        """Reserve slots, but for those whose size is not known; return for how many."""
        by_size: dict[int, list[int]] = {}
        for place, need in enumerate(needs):
            by_size.setdefault(need, []).append(place)
        end = len(samples)
        for need, places in by_size.items():
            if need:
                wanted = [samples[place] for place in places]
                mine = sum(1 for place in places if place < rights)
                count = self._room.reserve_each(wanted, need, mine)
                if count < len(places):
                    end = min(end, places[count])
        return end

    # A job's own parts.

    def _own_parts(self, reader: Reader, positions: list[int], homes: list[int]) -> list[int]:
        """Have own parts made of samples, up to the first for which there is no room."""
        stock, size_bytes = self._stock, reader.sizes.slot_bytes
        by_right = reader.share - reader.window.size
        if not size_bytes:
            few = max(1, min(FIRST_FEW, by_right)) - len(reader.window.unready)
            if few <= 0:
                return []  # one of the first tells the size
            positions, homes = positions[:few], homes[:few]
        needs = [size_bytes] * len(homes)
        count = len(homes)
        if size_bytes:
            count = self._allowed(list(range(count)), needs, by_right)
        if not count and self._room.may_go_without(reader):
            count, size_bytes = 1, 0
        own = [self._table.add(home, own=True) for home in homes[:count]]
        placed = len(own)
        if size_bytes and own:
            placed = self._room.reserve_each(own, size_bytes, min(by_right, len(own)))
            if not placed and self._room.may_go_without(reader):
                placed = 1
        # Only after that: a source that is made while its own part has no room would be evicted for
        # the next one, and be prepared again.
        sources = self._sources_of(reader, positions[:placed], homes[:placed]) if placed else []
        placed = len(sources)
        for sample in own[placed:]:
            stock.cache.drop(sample)
        del own[placed:]
        recipe, job, sizes, pins = reader.recipe, reader.job, reader.sizes, self._table.pins.cells
        begun = []
        for position, home, sample, source in zip(positions, homes, own, sources, strict=False):
            whole = source == _WHOLE
            origin = self._origin_of(reader, position) if whole else reader.origin(position)
            preparation = Preparation(recipe, home - recipe.base, job, origin, sizes, whole=whole)
            preparation.waiting[job, position] = reader
            begun.append(preparation)
            if not whole:
                self._make_of(sample, preparation, source)
            pins[sample] += 1  # as a lease does, of what is in preparation
        stock.begin(own, begun)
        reader.window.unready.update(positions[:placed])
        return own

    def _make_of(self, own: int, preparation: Preparation, source: int) -> None:
        """Let an own part be made of a sample that is here or on its way."""
        preparation.source = source
        self._stock.make_of(own, source)
        if (underway := self._stock.underway.get(source)) is not None:
            underway.followers[own] = None

    def _sources_of(self, reader: Reader, positions: list[int], homes: list[int]) -> list[int]:
        """Have what own parts are made of, or _WHOLE; up to the first without room."""
        found = self._find_each(reader, positions, homes)
        if _ABSENT in found and self._may_go_whole(reader):
            absent = [place for place, sample in enumerate(found) if sample == _ABSENT]
            needed = self._stock.cache.demand.counts(np.array(homes)[absent])
            for place, jobs in zip(absent, needed.tolist(), strict=True):
                if jobs <= 1 or reader.terms.private:
                    found[place] = _WHOLE
        return self._complete(reader, positions, homes, found)

    def _may_go_whole(self, reader: Reader) -> bool:
        """Tell whether rows that no other job needs may be prepared together with their own parts.

        Not if other nodes may ask for them, or if they are worth keeping as they are stored.
        """
        recipe = reader.recipe
        if not (recipe.sizes.slot_bytes and reader.sizes.slot_bytes):
            return False  # their sizes are not known yet
        if recipe.samplers.stream or self._raws.pay(recipe):
            return False
        return reader.terms.private or self._stock.cache.is_full

    # Random numbers.

    def _take(self, reader: Reader, position: int, sample: int) -> None:
        """Note which reader takes a fresh instance, and if it was begun for another place.

        That place must then get another: see `_origin_of`.
        """
        self._stock.instances.take(reader.terms.reads_for, sample)
        preparation = self._stock.underway.get(sample)
        if preparation is not None:
            maker = self._stock.readers.get(preparation.job)
            whom, start = maker.terms.reads_for if maker else "", preparation.origin
        else:  # it is ready; its reader was noted when it was reported
            whom, start = self._stock.made_for.get(sample, ("", (0, 0, 0)))
        key, place, times = reader.origin(position)
        # Bits above TIMES count how often it was begun again, which makes it no other place.
        mine = start[:2] == (key, place) and start[2] & TIMES == times
        if whom == reader.terms.reads_for and not mine:
            self._used.add(start)

    def _will_tell_size(self, recipe: Recipe) -> bool:
        """Tell whether a worker that answers has a sample of a recipe in preparation."""
        return not self._stock.late_ones or any(
            underway.recipe is recipe and not {sample, underway.source} & self._stock.late_ones
            for sample, underway in self._stock.underway.items()
        )

    def _origin_of(self, reader: Reader, position: int) -> Start:
        """Return where random numbers start: for fresh samples, never twice from one place.

        A sample that a pass gave up may have gone to another pass of its loader. If so, the first
        pass must get another one; if not, the sample may be prepared as it would have been.
        """
        key, place, times = reader.origin(position)
        while self._used and (key, place, times) in self._used:
            times += TIMES + 1
        return key, place, times

    def forget_pass(self, key: int) -> None:
        """Forget random numbers used by the pass of this key: it prepares nothing more."""
        if self._used:
            self._used = {start for start in self._used if start[0] != key}

    def take_what_is_here(self, reader: Reader, count: int) -> list[int]:
        """Pin the ready ones of a reader's next samples; return the places of the others.

        For a reader that reads by itself: samples that are not ready have the number -1.
        """
        absent = []
        for place, home in enumerate(reader.window.homes[:count]):
            sample = self._here(reader, home)
            if sample is None:
                absent.append(place)
                reader.window.samples.append(_ABSENT)  # or samples and places would be out of step
                continue
            self._stock.cache.lease(sample)
            if reader.terms.fresh:
                self._take(reader, reader.window.places[place], sample)
            else:
                self._stock.instances.vouch((sample,))
            reader.window.samples.append(sample)
        return absent

    def _here(self, reader: Reader, home: int) -> int | None:
        """Return a sample of a row that is ready and that the reader may get."""
        if reader.terms.private:
            return None
        for sample in self._table.all_of(home):
            had = reader.terms.fresh and self._stock.instances.has_had(
                reader.terms.reads_for, sample
            )
            if self._table.state.cells[sample] == READY and not had:
                return sample
        return None


def _distinct(homes: Sequence[int]) -> int:
    """Return how many of these come before the first that comes again."""
    if len(set(homes)) == len(homes):
        return len(homes)
    seen: set[int] = set()
    for count, home in enumerate(homes):
        if home in seen:
            return count
        seen.add(home)
    return len(homes)
