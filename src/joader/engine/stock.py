"""All samples that are here or on their way: the one place where that is written down.

A preparation is *at work* in a worker; *unplaced*: sized, and the worker waits for its slot;
*late*: its worker does not answer; or lost, to be prepared *again*. An own part is made of a shared
sample, its *source*, which is held for the workers until the own part is reported.
"""

from dataclasses import dataclass, field

from joader.cache import Cache
from joader.engine.instances import Instances
from joader.engine.reader import Reader
from joader.engine.recipes import Recipe
from joader.engine.sizes import Sizes
from joader.messages import Finish, Forget, Instruction, Job, Prepare

# Holds the sources of own parts that are in workers' hands; no job has this number.
WORKERS = -1


@dataclass(eq=False, slots=True)
class Origin:
    """One preparation of a row, and for which job it counts, once somebody got it."""

    job: Job | None = None
    reads_for: str = ""  # of fresh samples: for whom it was made, and where it starts
    start: tuple[int, int, int] = (0, 0, 0)


@dataclass(eq=False, slots=True)
class Preparation:
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


class Stock:
    """Samples, their preparations, and what is said of them."""

    def __init__(
        self, cache: Cache, readers: dict[Job, Reader], instructions: list[Instruction]
    ) -> None:
        """Start empty; readers come and go, and instructions are appended."""
        self.cache = cache
        self.readers = readers
        self.out = instructions
        self.instances = Instances()
        self.underway: dict[int, Preparation] = {}
        self.unplaced: dict[int, int] = {}  # size in bytes
        self.again: dict[int, str] = {}  # lost with their worker, and what to say of them
        self.late_ones: set[int] = set()  # in the hands of workers that do not answer
        self.origin: dict[int, Origin] = {}  # of samples that are here
        self.source: dict[int, int] = {}  # of own parts that are here or on their way
        self.wasted = 0  # samples that were prepared ahead and went before anybody got them
        self._holding = False  # whether WORKERS is known to the cache

    @property
    def at_work(self) -> bool:
        """Whether some worker will report without being told anything more."""
        blocked = sum(1 + len(self.underway[sample].followers) for sample in self.unplaced)
        return len(self.underway) > blocked

    def is_own(self, sample: int) -> bool:
        """Tell whether a sample is a job's own part of another."""
        return sample in self.source

    def waits_for(self, sample: int) -> tuple[int, int]:
        """Return what a sample in preparation waits for, itself or its source, and the row."""
        preparation = self.underway[sample]
        source = preparation.source
        return (source if source in self.underway and source is not None else sample), (
            preparation.row
        )

    def wanted(self, sample: int) -> bool:
        """Tell whether somebody waits for a sample in preparation, or for what is made of it."""
        preparation = self.underway[sample]
        return bool(preparation.waiting) or any(map(self.wanted, preparation.followers))

    def ended(self, sample: int) -> Preparation:
        """Note that a preparation has come to its end, good or bad."""
        preparation = self.underway.pop(sample)
        self.unplaced.pop(sample, None)
        self.again.pop(sample, None)
        self.late_ones.discard(sample)
        preparation.recipe.underway -= 1
        return preparation

    def abandon(self, sample: int, preparation: Preparation) -> None:
        """Free the slot of a preparation, if it has one."""
        if self.cache.has(sample):
            for reader in preparation.waiting.values():
                self.cache.release(reader.job, sample)
            for _ in preparation.followers:
                self.cache.release(WORKERS, sample)
            self.cache.abandon(sample)

    def say(self, sample: int, preparation: Preparation) -> None:
        """Have a worker prepare a sample."""
        offset, size_bytes = self.cache.place(sample) if self.cache.has(sample) else (-1, 0)
        job = preparation.job
        if job not in self.readers and preparation.waiting:  # it has left; another waits
            job = preparation.job = next(iter(preparation.waiting))[0]
        key, position, times = preparation.origin
        source = preparation.source
        if source is None:
            self.out.append(
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
        source_offset = -1 if source in self.underway else self.cache.place(source)[0]
        self.out.append(
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

    def hold(self, source: int) -> None:
        """Keep a sample for a worker that makes something of it, or compares it."""
        if not self._holding:
            self.cache.begin(WORKERS, ())
            self._holding = True
        self.cache.lease(WORKERS, source)

    def let_source_go(self, sample: int, source: int) -> None:
        """End the hold an own part has on its source, if that is here."""
        underway = self.underway.get(source)
        if underway is not None:
            underway.followers.pop(sample, None)
        if self.cache.has(source):
            self.cache.release(WORKERS, source)
            self.drop_if_own(source)

    def drop_if_own(self, sample: int) -> None:
        """Drop a sample that is made for one job alone and that nobody holds any more."""
        if (
            self.instances.is_own(sample)
            and sample not in self.underway
            and self.cache.has(sample)
            and not self.cache.pinned(sample)
        ):
            self.drop(sample)

    def drop(self, sample: int) -> None:
        """Drop a sample that nobody uses."""
        self.cache.drop(sample)
        self.forget([sample])

    def forget(self, samples: list[int]) -> None:
        """Say that samples are no longer in their slots."""
        self.forget_numbers(samples)
        if samples:
            self.out.append(Forget(tuple(samples)))

    def forget_numbers(self, samples: list[int]) -> None:
        """Free the numbers of samples that are gone."""
        for sample in samples:
            self.instances.forget(sample)
            origin = self.origin.pop(sample, None)
            if origin is not None and origin.job is None and sample not in self.source:
                self.wasted += 1
            self.source.pop(sample, None)
