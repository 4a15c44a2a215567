"""Who says what comes next in a loader's passes: the daemon, or a sampler.

An `Ordering` is decided when the loader is made. What may change after that (the samplers that the
loader shows, its generator) is put in with `now`: subclasses of torch's loader replace their batch
sampler, and a table may have more rows by the next pass.
Not here: which pass comes next, and where it goes on (epochs.py).
"""

from dataclasses import dataclass, replace
from typing import Any

from joader.client import torch_api
from joader.client.arguments import Arguments
from joader.client.dataset.unwrap import unwrap
from joader.client.order.progress import Progress
from joader.client.order.sampler_order import Beginning, ToldOrder
from joader.client.order.samplers import shown
from joader.client.order.source import Drawn, Source, Told
from joader.client.ranks import Rank, find_rank

# Batches asked for at a time: one in hand and one in preparation.
AHEAD = 2
# If the job reads them itself nothing is prepared meanwhile, but the daemon's answer takes a while,
# most of all on a busy machine: rows in memory came three times as fast with 4 as with 1.
AHEAD_ALONE = 4
# With batch_size=None samples are asked for one by one, so many at a time.
SINGLES = 16


@dataclass(frozen=True)
class Ordering:
    """The order of a loader's passes, as its arguments say it."""

    order: str  # of a shuffled loader: "shared" or "seeded"
    shuffle: bool
    by_sampler: bool  # the user gave one, or a generator for torch's
    seed: int
    batch_size: int | None
    drop_last: bool
    rank: Rank | None = None
    # The loader's, as they are now.
    sampler: Any = None
    batch_sampler: Any = None
    generator: Any = None
    replaced: bool = False  # a subclass has put a batch sampler in the place of ours
    beginning: Beginning = Beginning.SEED  # of the next pass

    def now(
        self,
        *,
        sampler: Any,
        batch_sampler: Any,
        generator: Any,
        replaced: bool,
        beginning: Beginning = Beginning.SEED,
    ) -> "Ordering":
        """Return it with what the loader shows now."""
        return replace(
            self,
            sampler=sampler,
            batch_sampler=batch_sampler,
            generator=generator,
            replaced=replaced,
            beginning=beginning,
        )

    @property
    def told(self) -> bool:
        """Whether a sampler says what comes next."""
        return self.by_sampler or self.replaced

    @property
    def given_name(self) -> str:
        """The order's name as the loader was made, to the daemon."""
        return "told" if self.by_sampler else self.order if self.shuffle else "given"

    @property
    def name(self) -> str:
        """The order's name to the daemon: "told", "shared", "seeded" or "given"."""
        return "told" if self.told else self.given_name

    @property
    def seeded(self) -> bool:
        """Whether random numbers are a function of seed and epoch, whoever gives the order."""
        return self.order == "seeded"

    @property
    def singly(self) -> bool:
        """Whether samples come one by one."""
        return self.batch_size is None and self.batch_sampler is None

    def ahead(self, in_flight: int, alone: bool = False) -> int:
        """Return how many batches are asked for at a time; 0: each when it is waited for.

        `in_flight`: how many torch's loader would have. A sampler is read as far ahead as there,
        and no further: what it draws, and from what, may depend on that. `alone`: the job reads by
        itself.
        """
        if self.told:
            return in_flight
        if self.singly:
            return 2 * SINGLES
        return AHEAD_ALONE if alone else AHEAD

    def advance(self) -> None:
        """Draw what torch's loader would when a pass begins; samplers draw for themselves."""
        if not self.told:
            torch_api.advance(self.generator, seeds=self.beginning > 0, draws=self.name != "given")

    def most_at_once(self, length: int) -> int:
        """Return how many of so many rows are prepared at a time, as far as is known."""
        if self.rank:
            return self.batch_size or 1
        size = SINGLES if self.singly else self.batch_size or 1
        return min(size, max(1, length))

    def shown(self, dataset: Any, sampler: Any = None, batch_sampler: Any = None) -> Any:
        """Return what torch's loader would have as its sampler and batch sampler."""
        return shown(
            dataset,
            sampler=sampler,
            batch_sampler=batch_sampler,
            batch_size=self.batch_size,
            shuffle=self.shuffle,
            drop_last=self.drop_last,
            generator=self.generator,
        )

    def batches(self, length: int) -> int:
        """Return the number of batches of a full pass over so many positions."""
        if self.told:
            return len(self.sampler if self.batch_sampler is None else self.batch_sampler)
        step = (self.batch_size or 1) * (self.rank.world_size if self.rank else 1)
        full, rest = divmod(length, step)
        return full + (1 if rest and not self.drop_last else 0)

    def told_order(self, length: int) -> ToldOrder:
        """Return what the samplers say."""
        # Of our own batch sampler only the sampler is read: a state then counts positions, and a
        # pass can go on from it in batches of another size.
        gives_batches = self.replaced or (self.batch_size is None and not self.singly)
        return ToldOrder(
            self.sampler,
            self.batch_sampler if gives_batches else None,
            batch_size=self.batch_size,
            drop_last=self.drop_last,
            generator=self.generator,
            length=length,
            beginning=self.beginning,
        )

    def source(self, progress: Progress, new_key: int, saved: dict[str, Any] | None) -> Source:
        """Return the order of a pass after what was yielded of it.

        Without a key of its own it begins with the new one; `saved` is of its samplers.
        """
        size, key = self.batch_size or 1, progress.key or new_key
        if self.rank is not None:
            # The progress gets its key when the plan comes: all ranks take that of rank 0.
            return Drawn(
                progress,
                size,
                self.drop_last,
                world_size=self.rank.world_size,
                rank=self.rank.number,
                new_key=key,
            )
        progress.key = key
        if self.told:
            return Told(self.told_order(progress.length), progress, saved)
        return Drawn(progress, size, self.drop_last)

    def in_words(self) -> str:
        """Say who gives the order."""
        if self.told:
            one_by_one = self.batch_size or self.singly
            chosen = self.sampler if one_by_one else self.batch_sampler
            return f"in the order of {type(chosen).__name__}"
        return "in the order of the dataset" if self.name == "given" else f"order={self.name!r}"


def decided(given: Arguments, obstacle: str) -> Ordering:
    """Return the ordering that a loader's arguments ask for.

    `obstacle`: why torch's own loader reads the dataset; then no order is ours.
    """
    shuffle, seed = bool(given.shuffle), given.seed
    length = 0 if obstacle else len(unwrap(given.dataset).rows)
    rank = find_rank(given.name, given.job is not None, given.chosen, length, given.address)
    if obstacle:
        rank = None
    if rank is not None and given.sampler is not None:
        # The ranks' one plan takes the place of their DistributedSampler, and does as it says.
        shuffle = bool(given.sampler.shuffle)
        seed = int(given.sampler.seed) if seed is None else seed
    if seed is None:
        by_generator = given.generator is not None and given.order == "seeded"
        seed = given.generator.initial_seed() if by_generator else 0
    # Who gives a generator wants the order that torch's RandomSampler draws from it.
    by_torch = shuffle and given.generator is not None and given.order == "shared"
    obeys = not obstacle and rank is None
    return Ordering(
        order=given.order,
        shuffle=shuffle,
        by_sampler=obeys and (given.chosen is not None or by_torch),
        seed=seed,
        batch_size=None if given.batch_sampler is not None else given.batch_size,
        drop_last=given.drop_last,
        rank=rank,
        generator=given.generator,
    )
