"""What becomes of preparations: workers report, die, or do not answer.

A second taker of a sample in preparation waits for it: equal requests in flight are one. A slot is
reserved before the work starts, as large as the latest samples were (sizes.py), and cut to size
when the sample is there; the first sample of a recipe, and one that turns out larger, says `Sized`
and gets its `Place`. A worker's death costs what it was at one try of two. A slot is a worker's
until it reports, whoever has left meanwhile.
"""

from collections.abc import Sequence

from joader.engine.plan import Origin as Start
from joader.engine.recipes import Recipe
from joader.engine.room import Room
from joader.engine.stock import WORKERS, Origin, Preparation, Stock
from joader.messages import Drop, Place

TRIES = 2
# What of `times` says how often a position came before; above that, how often it was begun anew.
TIMES = (1 << 24) - 1


class Preparations:
    """Samples on their way, from a worker's report to who waits for it."""

    def __init__(self, stock: Stock, room: Room) -> None:
        """Change this stock."""
        self._stock, self._room = stock, room

    def prepared(self, samples: Sequence[int], sizes: Sequence[int]) -> None:
        """Note that samples are here."""
        if len(samples) > 1 and not any(map(self._stock.instances.is_own, samples)):
            self._prepared_together(samples, sizes)
            return
        for sample, size_bytes in zip(samples, sizes, strict=True):
            self._prepared_alone(sample, size_bytes)

    def _prepared_alone(self, sample: int, size_bytes: int) -> None:
        preparation = self._stock.ended(sample)
        preparation.sizes.note(self._stock.cache.prepared(sample, size_bytes))
        self._stock.origin[sample] = self._new_origin(preparation)
        if preparation.source is not None:
            self._stock.origin[sample] = self._stock.origin[preparation.source]
            self._stock.let_source_go(sample, preparation.source)
        for (_, position), reader in preparation.waiting.items():
            reader.window.unready.remove(position)
        self._stock.drop_if_own(sample)

    def _prepared_together(self, samples: Sequence[int], sizes: Sequence[int]) -> None:
        """Do the same for several shared samples, in half the time."""
        for sample, taken_bytes in zip(
            samples, self._stock.cache.prepared_each(samples, sizes), strict=True
        ):
            preparation = self._stock.ended(sample)
            preparation.sizes.note(taken_bytes)
            self._stock.origin[sample] = self._new_origin(preparation)
            for (_, position), reader in preparation.waiting.items():
                reader.window.unready.remove(position)

    def _new_origin(self, preparation: Preparation) -> Origin:
        reader = self._stock.readers.get(preparation.job)
        if reader is None or not reader.terms.fresh:
            return Origin()
        return Origin(None, reader.terms.reads_for, preparation.origin)

    def sized(self, sample: int, size_bytes: int) -> Recipe:
        """Note that a sample needs another slot than it has; return its recipe."""
        preparation = self._stock.underway[sample]
        self._stock.late_ones.discard(sample)
        self._stock.abandon(sample, preparation)
        if size_bytes > self._stock.cache.capacity_bytes:
            reason = f"the sample has {size_bytes} bytes and the budget is "
            advice = "make it smaller in prepare=, or give the daemon more (joader up --memory)"
            self.failed(sample, f"{reason}{self._stock.cache.capacity_bytes}; {advice}")
        else:
            self._stock.unplaced[sample] = size_bytes
            if not preparation.sizes.slot_bytes:
                preparation.sizes.note(size_bytes)
        return preparation.recipe

    def failed(self, sample: int, reason: str) -> None:
        """Note that a sample cannot be prepared, nor what was to be made of it."""
        preparation = self._stock.ended(sample)
        self._stock.abandon(sample, preparation)
        if preparation.source is not None:
            self._stock.let_source_go(sample, preparation.source)
        for (_, position), reader in preparation.waiting.items():
            reader.window.unready.remove(position)
            reader.window.failed[position] = reason
        self._stock.forget_numbers([sample])
        for follower in list(preparation.followers):
            self.failed(follower, reason)

    def lost(self, samples: tuple[int, ...], reason: str, blamed: bool = True) -> None:
        """Note that samples went with their worker: they are prepared again if they have a try.

        It costs a try only where they may be the cause.
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
        """Have what others wait for prepared once more, in another slot.

        The slot of a late worker stays its own until it reports or is dead: it may be stopped in
        the middle of a write. So who waits gets another number, as for a further instance; what the
        late worker brings in the end is then there for whoever asks next.
        """
        for sample in samples:
            preparation = self._stock.underway.get(sample)
            is_own = preparation is None or preparation.source is not None
            if preparation is None or is_own or sample in self._stock.again:
                continue  # an own part can be done by nobody else
            # Own parts that the worker has not got are told anew, whatever they are made of now.
            own = [one for one in preparation.followers if one not in samples]
            self._stock.again |= dict.fromkeys(own, "nobody waits for it")
            if preparation.moved:
                continue  # a row that holds the interpreter would go from worker to worker
            self._stock.late_ones.add(sample)
            wanted = preparation.waiting or any(map(self._stock.wanted, own))
            if wanted and sample not in self._stock.unplaced:
                self._move_to_another(sample, preparation, own)

    def _move_to_another(self, sample: int, preparation: Preparation, own: list[int]) -> None:
        """Let who waits for a sample wait for another preparation of the same row.

        So do these own parts, which are made of that one then.
        """
        extra = self._stock.instances.add_extra(self._stock.instances.home(sample))
        size_bytes = preparation.sizes.slot_bytes
        if size_bytes and self._room.reserve(extra, size_bytes, reclaim=True) is None:
            self._stock.instances.forget(extra)
            return
        again = Preparation(
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
            if self._stock.cache.has(sample):
                self._stock.cache.release(job, sample)
            if self._stock.cache.has(extra):
                self._stock.cache.lease(job, extra)
            if reader.terms.fresh:
                self._stock.instances.take(reader.terms.reads_for, extra)
        for follower in own:
            self._follow(follower, preparation, sample, again, extra)
        self._stock.underway[extra] = again
        again.recipe.underway += 1
        self._stock.say(extra, again)

    def _begun_anew(self, preparation: Preparation) -> Start:
        """Return where a second preparation starts: if fresh, not where the first does.

        The first is still to come, and may go to somebody who gets the second, too.
        """
        maker = self._stock.readers.get(preparation.job)
        key, place, times = preparation.origin
        private = maker is not None and maker.terms.private
        fresh = not preparation.recipe.kept and not private
        return (key, place, times + TIMES + 1) if fresh else preparation.origin

    def _follow(
        self, own: int, old: Preparation, source: int, new: Preparation, extra: int
    ) -> None:
        """Let an own part be made of another preparation of its row."""
        del old.followers[own]
        new.followers[own] = None
        self._stock.underway[own].source = self._stock.source[own] = extra
        if self._stock.cache.has(source):
            self._stock.cache.release(WORKERS, source)
        if self._stock.cache.has(extra):
            self._stock.hold(extra)
        for reader in self._stock.underway[own].waiting.values():
            if reader.terms.fresh:
                self._stock.instances.take(reader.terms.reads_for, extra)

    def prepare_again(self) -> None:
        """Say once more what was lost, if somebody still waits: who did may have left meanwhile."""
        for sample in sorted(self._stock.again, key=self._stock.is_own):
            reason = self._stock.again.pop(sample, None)
            if reason is None:
                continue  # it has failed with its source
            if self._stock.wanted(sample):
                self._stock.say(sample, self._stock.underway[sample])
            else:
                self.failed(sample, reason)

    def place(self) -> None:
        """Give samples that were sized their slots where there is room; drop what nobody wants."""
        for sample in list(self._stock.unplaced):
            if sample not in self._stock.unplaced:
                continue  # another's room was made of it
            size_bytes, preparation = self._stock.unplaced[sample], self._stock.underway[sample]
            wanted, offset = self._stock.wanted(sample), None
            if wanted or self._stock.cache.needs(sample):
                offset = self._room.reserve(sample, size_bytes, reclaim=wanted)
            if not wanted and offset is None:
                self.failed(sample, "nobody wants it any more")
                self._stock.out.append(Drop((sample,)))
            elif offset is not None:
                del self._stock.unplaced[sample]
                for reader in preparation.waiting.values():
                    self._stock.cache.lease(reader.job, sample)
                for _ in preparation.followers:
                    self._stock.hold(sample)
                self._stock.out.append(Place((sample,), (offset,), (size_bytes,)))
