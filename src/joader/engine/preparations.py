"""What becomes of preparations: workers report, die, or do not answer.

A second job that wants a sample in preparation waits for it: equal requests in flight are one. A
slot is reserved before the work starts, as large as the latest samples were (sizes.py), and cut to
size when the sample is ready; the first sample of a recipe, and one that turns out larger, is
reported as `Sized` and gets a `Place`. A worker's death costs the samples it worked on one of two
tries. A slot belongs to its worker until that reports, even if all jobs have left meanwhile.
"""

from joader.engine.plan import Origin as Start
from joader.engine.raw_forms import RawForms
from joader.engine.recipes import Recipe
from joader.engine.room import Room
from joader.engine.stock import Preparation, Stock
from joader.errors import more_memory, size_in_words
from joader.messages import Place, Prepared
from joader.messages.work import TIMES

TRIES = 2


class Preparations:
    """Samples in preparation, from a worker's report to the jobs that wait for it."""

    def __init__(self, stock: Stock, room: Room, raws: RawForms) -> None:
        """Change this stock."""
        self._stock, self._room, self._raws = stock, room, raws
        raws.on_lost = self.failed

    def prepared(self, event: Prepared) -> list[Recipe]:
        """Note that samples are here; return recipes whose samples' size is known only now."""
        stock, samples, known = self._stock, event.samples, []
        self._raws.note(event)
        for sample in samples if event.copied else ():
            stock.table.copied.cells[sample] = 1
        stock.cache.prepared_each(samples)
        slots, own = stock.table.size.cells, stock.table.own.cells
        readers, ended = stock.readers, stock.ended
        each = zip(samples, event.size_of_each, event.raw_size_of_each, strict=True)
        for sample, size_bytes, raw_bytes in each:
            preparation = ended(sample)
            preparation.sizes.note(size_bytes or slots[sample], preparation.row)
            for (_, position), reader in preparation.waiting.items():
                reader.window.unready.remove(position)
            if preparation.source is not None:
                stock.claim_for_own(sample, preparation.source, preparation.job)
                stock.let_source_go(sample, preparation.source)
            elif not preparation.whole:  # a whole one is its job's alone, like an own part
                maker = readers.get(preparation.job)
                if maker is not None and maker.terms.fresh:
                    stock.made_for[sample] = maker.terms.reads_for, preparation.origin
                elif stock.instances.is_fresh(sample):  # its job has left
                    stock.made_for[sample] = "", preparation.origin
            # Perhaps no job waits for it any more: then an own part goes at once.
            if own[sample] and not preparation.waiting:
                stock.drop_if_own(sample)
            if preparation.along:
                stock.table.claimed.cells[sample] = preparation.job  # no job has claimed it
            elif preparation.raw is not None:
                recipe = self._raws.settle(sample, preparation, raw_bytes)
                known += [recipe] if recipe is not None else []
        return known

    def sized(self, sample: int, size_bytes: int) -> Recipe:
        """Note that a sample does not fit its slot, or has none; return its recipe."""
        preparation = self._stock.underway[sample]
        self._stock.late_ones.discard(sample)
        self._stock.cache.unplace(sample)
        if size_bytes > self._stock.cache.capacity_bytes:
            budget = size_in_words(self._stock.cache.capacity_bytes)
            reason = f"the sample has {size_in_words(size_bytes)} and the budget is {budget}"
            advice = f"make it smaller in prepare=, or {more_memory(2 * size_bytes)}"
            self.failed(sample, f"{reason}; {advice}")
            self._stock.call_off(sample)  # its worker keeps the bytes until then
        else:
            self._stock.unplaced[sample] = size_bytes
            if not preparation.sizes.slot_bytes:
                preparation.sizes.note(size_bytes, preparation.row)
        return preparation.recipe

    def failed(self, sample: int, reason: str) -> None:
        """Note that a sample cannot be prepared, and so neither can its followers."""
        preparation = self._stock.ended(sample)
        if preparation.source is not None:
            self._stock.let_source_go(sample, preparation.source)
        self._raws.let_go(preparation)
        for (_, position), reader in preparation.waiting.items():
            reader.window.unready.remove(position)
            reader.window.failed[position] = reason
        for follower in preparation.followers:
            self.failed(follower, reason)  # and so its hold on this ends
        self._stock.abandon(sample, preparation)

    def lost(self, samples: tuple[int, ...], reason: str, blamed: bool = True) -> None:
        """Note that samples went with their worker: they are prepared again if they have a try.

        It costs a try only if they may be the cause.
        """
        for sample in sorted(
            samples, key=self._stock.is_own
        ):  # sources first: what fails takes followers
            preparation = self._stock.underway.get(sample)
            if preparation is None:
                continue
            if self._stock.wanted(sample) and preparation.tries == TRIES and blamed:
                what, *where = reason.splitlines()
                self.failed(sample, "\n".join([f"{what}, {TRIES} times", *where]))
            else:
                preparation.tries += blamed
                self._stock.unplaced.pop(sample, None)
                self._stock.late_ones.discard(sample)
                self._stock.again[sample] = reason

    def late(self, samples: tuple[int, ...]) -> None:
        """Have samples that jobs wait for prepared again, in another slot.

        The slot of a late worker stays its own until it reports or dies: it may be stopped in the
        middle of a write. So jobs that wait get another number, as for a further instance; what the
        late worker brings in the end serves later requests.
        """
        for sample in samples:
            preparation = self._stock.underway.get(sample)
            is_own = preparation is None or preparation.source is not None
            if preparation is None or is_own or sample in self._stock.again:
                continue  # no other worker can do an own part
            # Own parts that the worker does not have yet are sent again, with their current source.
            own = [one for one in preparation.followers if one not in samples]
            self._stock.again |= dict.fromkeys(own, "no job waits for it")
            if preparation.moved:
                continue  # a row that holds the interpreter would go from worker to worker
            self._stock.late_ones.add(sample)
            wanted = preparation.waiting or any(map(self._stock.wanted, own))
            if wanted and sample not in self._stock.unplaced:
                self._move_to_another(sample, preparation, own)

    def _move_to_another(self, sample: int, preparation: Preparation, own: list[int]) -> None:
        """Let all that wait for a sample wait for another preparation of the same row.

        The given own parts are then made of that one, too.
        """
        stock = self._stock
        extra = stock.table.add(stock.table.home.cells[sample], own=preparation.whole)
        size_bytes = preparation.sizes.of(preparation.row)
        if size_bytes and not self._room.reserve(extra, size_bytes, reclaim=True):
            stock.cache.drop(extra)  # no room for two: jobs go on waiting for the first
            return
        if stock.instances.is_fresh(sample):
            stock.instances.begin([extra])
        again = Preparation(
            preparation.recipe,
            preparation.row,
            preparation.job,
            self._begun_again(preparation),
            preparation.sizes,
            waiting=preparation.waiting,
            moved=True,
            whole=preparation.whole,
        )
        preparation.waiting = {}  # if it comes after all, no job waits for it
        for (_, position), reader in again.waiting.items():
            reader.window.samples[reader.window.places.index(position)] = extra
            stock.cache.lease(extra)
            stock.cache.release(sample)
            if reader.terms.fresh and not again.whole:
                stock.instances.take(reader.terms.reads_for, extra)
        for follower in own:
            self._follow(follower, preparation, sample, again, extra)
        stock.begin([extra], [again])

    def _begun_again(self, preparation: Preparation) -> Start:
        """Return where a second preparation starts: not where the first does, if others may get it.

        The first may still come, and go to a job that gets the second, too.
        """
        maker = self._stock.readers.get(preparation.job)
        key, place, times = preparation.origin
        private = preparation.whole or (maker is not None and maker.terms.private)
        return preparation.origin if private else (key, place, times + TIMES + 1)

    def _follow(
        self, own: int, old: Preparation, source: int, new: Preparation, extra: int
    ) -> None:
        """Let an own part be made of another preparation of its row."""
        del old.followers[own]
        new.followers[own] = None
        self._stock.underway[own].source = extra
        self._stock.make_of(own, extra)
        self._stock.cache.lease(extra)
        self._stock.cache.release(source)
        for reader in self._stock.underway[own].waiting.values():
            if reader.terms.fresh:
                self._stock.instances.take(reader.terms.reads_for, extra)

    def prepare_again(self) -> None:
        """Have lost samples prepared again if jobs still wait for them: some may have left."""
        for sample in sorted(self._stock.again, key=self._stock.is_own):
            reason = self._stock.again.pop(sample, None)
            if reason is None:
                continue  # it has failed with its source
            if self._stock.wanted(sample):
                self._stock.say_again(sample)
            else:
                self.failed(sample, reason)

    def place(self) -> None:
        """Give sized samples slots as far as there is room; drop those no job wants."""
        slots: list[int] = []
        for sample in list(self._stock.unplaced):
            if sample not in self._stock.unplaced:
                continue  # it made room for another
            size_bytes, preparation = self._stock.unplaced[sample], self._stock.underway[sample]
            wanted, placed = self._stock.wanted(sample), False
            if preparation.along and not wanted:
                placed = self._raws.place(sample, size_bytes)
            elif wanted or self._stock.needed(sample):
                slot_bytes = preparation.sizes.slot_for(size_bytes)
                placed = self._room.reserve(sample, slot_bytes, reclaim=wanted)
                if not placed and slot_bytes > size_bytes:
                    placed = self._room.reserve(sample, size_bytes, reclaim=wanted)
            if placed:
                del self._stock.unplaced[sample]
                self._stock.keep_promise(sample)
                slots.append(sample)
            elif not wanted:
                self.failed(sample, "no job wants it any more")
                self._stock.call_off(sample)
        if slots:
            offset, size = self._stock.table.offset.cells, self._stock.table.size.cells
            offsets = tuple([offset[sample] for sample in slots])
            sizes = tuple([size[sample] for sample in slots])
            self._stock.out.append(Place(tuple(slots), offsets, sizes))
