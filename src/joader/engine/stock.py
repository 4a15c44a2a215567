"""All samples that are here or in preparation, their preparations, and what is said of them.

A preparation is *at work* in a worker; *unplaced*: its size is known, and the worker waits for a
slot; *late*: its worker does not answer; or lost, to be prepared *again*. An own part is made of a
shared sample, its *source*, which is pinned for the worker until the own part is reported; or it is
prepared *whole*, with a source that never has a slot.

Instructions about samples are collected here and given in an order that holds whatever order they
were decided in: first what is gone, because its number may already be another's; then all else;
last what workers should prepare, many rows per message.

For jobs whose dataset has random code a preparation is an *instance* (`Instances`): it serves each
job once. Jobs that read for the same loader or team (its passes, its ranks) count as one job, also
one after the other: what they have had is remembered as long as the instance. A job counts as
having had an instance from the moment it asks for it, so a row that stands at several positions
gets one instance per position. An instance is *fresh* if it was prepared for such a job and no job
whose dataset is deterministic has taken it: nobody says that it may serve a job twice, so it goes
once no job can use it. All other samples are *kept*: they serve such jobs as instances, once each,
and stay.

Invariant: only instances that are here or in preparation are known. Not here: which row is wanted
next (plan.py), where bytes lie (cache/).
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from joader.cache import NOBODY, NOWHERE, Cache
from joader.cache.two_forms import TwoForms
from joader.engine.reader import Reader
from joader.engine.recipes import Recipe
from joader.engine.sizes import Sizes
from joader.messages import Drop, Finish, Forget, Instruction, Job, Prepare

Start = tuple[int, int, int]


@dataclass(eq=False, slots=True)
class Preparation:
    """A sample in preparation: which job began it, which positions of which jobs wait for it."""

    recipe: Recipe
    row: int
    job: Job
    origin: Start  # where its random numbers start: see Prepare
    sizes: Sizes
    source: int | None = None  # of an own part
    waiting: dict[tuple[Job, int], Reader] = field(default_factory=dict)
    followers: dict[int, None] = field(default_factory=dict)  # own parts, in order
    tries: int = 1
    moved: bool = False  # taken over from a worker that did not answer
    raw: int | None = None  # the raw form that it is made of, or that comes along (raw_forms.py)
    along: bool = False  # it is such a raw form
    whole: bool = False  # an own part with its source, of which nothing else is kept


class Stock:
    """Samples, their preparations, and what is said of them."""

    def __init__(
        self, cache: Cache, readers: dict[Job, Reader], instructions: list[Instruction]
    ) -> None:
        """Start empty; readers come and go, and instructions are appended."""
        self.cache, self.table = cache, cache.table
        self.forms = TwoForms(cache)
        self.readers = readers
        self.out = instructions
        self.instances = Instances()
        self.underway: dict[int, Preparation] = {}
        self.unplaced: dict[int, int] = {}  # size in bytes
        self._promised: dict[int, int] = {}  # at work without a slot, and what they may need
        self.promised_bytes = 0
        self.again: dict[int, str] = {}  # lost with their worker, and what to say of them
        self.late_ones: set[int] = set()  # in the hands of workers that do not answer
        # Of fresh samples that are here: for whom they were made, and where they start.
        self.made_for: dict[int, tuple[str, Start]] = {}
        self._source: dict[int, tuple[int, int]] = {}  # of own parts: a sample, and its serial
        self._gone: list[int] = []
        self._called_off: list[int] = []
        self._to_prepare: list[int] = []

    @property
    def at_work(self) -> bool:
        """Whether some worker will report without further instructions."""
        return len(self.underway) > sum(map(self._held_up_by, self.unplaced))

    def _held_up_by(self, sample: int) -> int:
        """Return how many preparations wait while a sample waits for its slot, itself included."""
        preparation = self.underway[sample]
        raw, held_up = preparation.raw, 1 + len(preparation.followers)
        return held_up + (self._held_up_by(raw) if raw in self.underway else 0)

    def is_own(self, sample: int) -> bool:
        """Tell whether a sample is a job's own part of another."""
        return sample in self._source

    def make_of(self, own: int, source: int) -> None:
        """Note what an own part is made of."""
        self._source[own] = source, self.table.serial.cells[source]

    def source_of(self, sample: int) -> int:
        """Return what an own part was made of, -1 if that is gone; of others, the sample itself."""
        if sample not in self._source:
            return sample
        source, serial = self._source[sample]
        return source if self.table.serial.cells[source] == serial else -1

    def start_of(self, sample: int) -> Start:
        """Return where the random numbers of a sample that is here start, if it may have any."""
        return self.made_for[sample][1] if sample in self.made_for else (0, 0, 0)

    def waits_for(self, sample: int) -> tuple[int, int]:
        """Return what a sample in preparation waits for, itself or its source, and the row."""
        preparation = self.underway[sample]
        source = preparation.source
        return (source if source in self.underway and source is not None else sample), (
            preparation.row
        )

    def wanted(self, sample: int) -> bool:
        """Tell whether a job waits for a sample in preparation, or for an own part made of it."""
        preparation = self.underway[sample]
        return bool(preparation.waiting) or any(map(self.wanted, preparation.followers))

    def needed(self, sample: int) -> bool:
        """Tell whether a job will still ask for the row that a sample is of."""
        home = self.table.home.cells[sample]
        return not self.table.own.cells[sample] and self.cache.demand.anybody_needs(home)

    def begin(self, samples: Sequence[int], preparations: Sequence[Preparation]) -> None:
        """Note that samples of one recipe are on their way, and have them prepared."""
        if not samples:
            return
        self.underway.update(zip(samples, preparations, strict=True))
        preparations[0].recipe.underway += len(samples)
        self._to_prepare += samples
        offsets = self.table.offset.cells
        for sample, preparation in zip(samples, preparations, strict=True):
            if offsets[sample] == NOWHERE:
                self._promised[sample] = preparation.sizes.usual_bytes
                self.promised_bytes += preparation.sizes.usual_bytes

    def begin_along(self, raw: int, preparation: Preparation) -> None:
        """Note that a worker will bring a raw form along with a sample it prepares."""
        self.underway[raw] = preparation
        preparation.recipe.underway += 1

    def keep_promise(self, sample: int) -> None:
        """Note that a sample that was at work without a slot has one now, or needs none."""
        self.promised_bytes -= self._promised.pop(sample, 0)

    def say_again(self, sample: int) -> None:
        """Have a sample prepared again that was lost with its worker."""
        preparation = self.underway[sample]
        preparation.along = False  # by itself now, whatever it came with
        if preparation.job not in self.readers and preparation.waiting:  # left; another waits
            preparation.job = next(iter(preparation.waiting))[0]
        self._to_prepare.append(sample)

    def ended(self, sample: int) -> Preparation:
        """Note that a preparation has come to its end, good or bad."""
        preparation = self.underway.pop(sample)
        if self._promised:
            self.keep_promise(sample)
        if self.unplaced or self.again or self.late_ones:
            self.unplaced.pop(sample, None)
            self.again.pop(sample, None)
            self.late_ones.discard(sample)
        preparation.recipe.underway -= 1
        return preparation

    def abandon(self, sample: int, preparation: Preparation) -> None:
        """Forget a preparation that has failed, its slot and all its pins."""
        for _ in preparation.waiting:
            self.cache.release(sample)
        self.cache.drop(sample)
        self.forget_numbers([sample])

    def call_off(self, sample: int) -> None:
        """Have workers forget a sample that has failed, and what waits for it.

        That is told before a job is refused: what waits for the workers of that job is then
        reported as lost, by its number.
        """
        self._called_off.append(sample)

    def let_source_go(self, sample: int, source: int) -> None:
        """End the hold an own part has on its source."""
        underway = self.underway.get(source)
        if underway is not None:
            underway.followers.pop(sample, None)
        self.cache.release(source)
        self.drop_if_own(source)

    def drop_if_own(self, sample: int) -> None:
        """Drop a sample that was made for one job alone, once no job holds it."""
        if self.table.own.cells[sample] and self.cache.may_leave(sample):
            self.drop(sample)

    def drop(self, sample: int) -> None:
        """Drop an unused sample."""
        self.cache.drop(sample)
        self.forget((sample,))

    def forget(self, samples: Collection[int]) -> None:
        """Note that samples are no longer in their slots."""
        self.forget_numbers(samples)
        self._gone += samples

    def forget_numbers(self, samples: Collection[int]) -> None:
        """Forget what is known of samples that are gone."""
        for sample in samples:
            self.instances.forget(sample)
            self.made_for.pop(sample, None)
            self._source.pop(sample, None)
        self.forms.gone(samples)

    def keeps(self, recipe: Recipe) -> bool:
        """Drop the fresh samples of a recipe without readers; tell whether others are here."""
        samples = self._of(recipe)
        fresh = [sample for sample in samples if self.instances.is_fresh(sample)]
        for sample in fresh:
            self.drop(sample)
        return len(samples) > len(fresh)

    def drop_all(self, recipe: Recipe | None = None) -> None:
        """Drop all unused samples, or those of a recipe."""
        for sample in self._of(recipe):
            if self.cache.may_leave(sample):
                self.drop(sample)

    def _of(self, recipe: Recipe | None) -> list[int]:
        everyone = self.table.everyone()
        if recipe is not None:
            rows = self.table.home.all[everyone] - recipe.base
            everyone = everyone[(rows >= 0) & (rows < recipe.row_limit)]
        found: list[int] = everyone.tolist()
        return found

    def claim_for_own(self, own: int, source: int, job: Job) -> None:
        """Let an own part count as its source does: as prepared, if no job has claimed that."""
        claimed = self.table.claimed.cells
        if claimed[source] == NOBODY:
            claimed[source] = job
        else:
            claimed[own] = claimed[source]

    def unclaim(self, own: int, job: Job) -> None:
        """Let the source of an own part count for the next job: the own part is not delivered."""
        claimed, source = self.table.claimed.cells, self.source_of(own)
        ready = own not in self.underway
        if ready and claimed[own] == NOBODY and source >= 0 and claimed[source] == job:
            claimed[source] = NOBODY

    def say(self) -> list[Instruction]:
        """Return the instructions that have collected, in order."""
        said: list[Instruction] = []
        if self._gone:
            said.append(Forget(tuple(self._gone)))
            self._gone = []
        if self._called_off:
            said.append(Drop(tuple(self._called_off)))
            self._called_off = []
        said += self.out
        self.out.clear()
        if self._to_prepare:
            shared, own = self._due()
            for _, some in groupby(shared, self._for_whom):
                said.append(self._prepare(list(some)))
            for _, some in groupby(own, self._for_whom):
                said.append(self._finish(list(some)))
            self._to_prepare = []
        return said

    def _due(self) -> tuple[list[int], list[int]]:
        """Return the samples that workers should prepare: shared ones, and own parts.

        A preparation may have ended in the turn that began it, and its number may be another's.
        """
        due = [
            sample
            for sample in dict.fromkeys(self._to_prepare)
            if (preparation := self.underway.get(sample)) is not None and not preparation.along
        ]
        own = [sample for sample in due if sample in self._source]
        return ([sample for sample in due if sample not in self._source] if own else due), own

    def _for_whom(self, sample: int) -> tuple[str, Job, int, bool]:
        one = self.underway[sample]
        return one.recipe.name, one.job, one.origin[0], one.whole

    def _prepare(self, samples: list[int]) -> Prepare:
        offset, size = self.table.offset.cells, self.table.size.cells
        each = [self.underway[sample] for sample in samples]
        raws: tuple[int, ...] = ()
        raw_offsets: tuple[int, ...] = ()
        if any(one.raw is not None for one in each):
            raws = tuple([-1 if one.raw is None else one.raw for one in each])
            raw_offsets = tuple(
                [-1 if raw < 0 or raw in self.underway else offset[raw] for raw in raws]
            )
        return Prepare(
            each[0].recipe.name,
            each[0].job,
            each[0].origin[0],
            samples=tuple(samples),
            rows=tuple([one.row for one in each]),
            positions=tuple([one.origin[1] for one in each]),
            times=tuple([one.origin[2] for one in each]),
            offsets=tuple([offset[sample] for sample in samples]),
            sizes=tuple([size[sample] for sample in samples]),
            raws=raws,
            raw_offsets=raw_offsets,
            whole=each[0].whole,
        )

    def _finish(self, samples: list[int]) -> Finish:
        offset, size = self.table.offset.cells, self.table.size.cells
        each = [self.underway[sample] for sample in samples]
        sources = [one.source for one in each if one.source is not None]
        return Finish(
            each[0].job,
            each[0].origin[0],
            samples=tuple(samples),
            sources=tuple(sources),
            source_offsets=tuple([-1 if s in self.underway else offset[s] for s in sources]),
            positions=tuple([one.origin[1] for one in each]),
            times=tuple([one.origin[2] for one in each]),
            offsets=tuple([offset[sample] for sample in samples]),
            sizes=tuple([size[sample] for sample in samples]),
        )


class Instances:
    """Which readers have had which instance; passes of a loader, ranks of a team are one."""

    def __init__(self) -> None:
        """Start without any."""
        self._had: dict[int, set[str]] = {}
        self._fresh: set[int] = set()

    def __len__(self) -> int:
        """Return how many instances a reader has had."""
        return len(self._had)

    def has_had(self, whom: str, sample: int) -> bool:
        """Tell whether the reader `whom` has had an instance."""
        return whom in self._had.get(sample, ())

    def take(self, whom: str, sample: int) -> None:
        """Note that a job asked for the instance."""
        self._had.setdefault(sample, set()).add(whom)

    def put_back(self, whom: str, sample: int) -> None:
        """Note that a job gave up the instance before it got it."""
        if sample in self._had:
            self._had[sample].discard(whom)

    def begin(self, samples: Iterable[int]) -> None:
        """Note that these are prepared for a job that gets each sample once."""
        self._fresh.update(samples)

    def vouch(self, samples: Iterable[int]) -> None:
        """Note that a job with a deterministic dataset takes these: they are no longer fresh."""
        if self._fresh:
            self._fresh.difference_update(samples)

    def is_fresh(self, sample: int) -> bool:
        """Tell whether only jobs that get each sample once have taken it."""
        return sample in self._fresh

    def forget(self, sample: int) -> None:
        """Note that the instance is gone."""
        self._had.pop(sample, None)
        self._fresh.discard(sample)
