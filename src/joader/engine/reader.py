"""One job inside the engine: what is planned for it, what it asked for, what it holds.

A position of its pass is
- *undrawn*: known to the sampler only, counted in `undrawn`;
- *planned*: in `positions`, and its row's sample number in `homes`; nothing is held for it;
- *asked for*: one of the first in `positions`, its sample in `samples`. It is in `unready` while
  in preparation, in `failed` if that went wrong, and else ready;
- *held*: delivered and not released; its sample is counted in `held`.

Where the job is told what to read (`told`), positions are tickets: numbers of what it was told, in
order; `told_places` has the position of each, and how often that came before. Plan order is
delivery order. A job has a lease for each position that is asked for or held
and has a slot. Not here: which are planned (planner.py), leases and preparations (supply.py).
"""

from collections import Counter, deque
from dataclasses import dataclass, field
from math import ceil

import numpy as np

from joader.engine.limits import Limits
from joader.engine.recipe_rows import Array, JobRows
from joader.engine.recipes import Recipe
from joader.engine.sizes import Sizes
from joader.errors import BadArgument
from joader.messages import Job
from joader.sampling import Sampler
from joader.statistics import ReadStatistics


@dataclass(eq=False)
class Reader:
    """A job's plan and windows."""

    job: Job
    recipe: Recipe
    rows: JobRows
    batch_size: int
    limits: Limits
    sampler: Sampler
    seed: int | None = None  # of order "seeded"
    fresh: bool = False
    own: bool = False  # it has a part of its own
    told: bool = False  # what comes next is told with each want
    reads_for: str = ""  # jobs that read for the same never get a fresh sample twice
    reads_itself: bool = False  # nothing is prepared for it; it never asks
    inspected: set[int] = field(default_factory=set)  # what its workers have to compare first
    admitted: bool = False  # the size of its samples is known, and its share fits
    in_pass: bool = False
    epoch: int = 0
    key: int = 0  # where the pass's random numbers start
    undrawn: int = 0
    tickets: int = 0  # how many positions it was told in this pass
    told_places: dict[int, tuple[int, int]] = field(default_factory=dict)
    positions: list[int] = field(default_factory=list)
    homes: list[int] = field(default_factory=list)
    samples: list[int] = field(default_factory=list)
    unready: set[int] = field(default_factory=set)
    failed: dict[int, str] = field(default_factory=dict)
    held: dict[int, int] = field(default_factory=dict)  # how often each
    held_count: int = 0
    wants: deque[int] = field(default_factory=deque)
    pending: deque[float] = field(default_factory=deque)  # when a rank wanted steps to come
    steps: deque[int] = field(default_factory=deque)  # of a rank: repeated rows of steps to come
    lead: Job | None = None  # of a rank: who needs its samples in its stead
    wanted: int = 0  # the sum of wants
    recent: float = 0.0  # how much it wanted in the last pace_s, older wants fading out
    recent_s: float = 0.0  # in what time: pace_s, or less if it has not read for long
    pace: float = 1.0  # how many it reads in a second, as far as is known; always above 0
    own_sizes: Sizes = field(default_factory=Sizes)
    stuck: bool = False  # all was given up for its next batch, and it alone may ask
    most_ahead: int = 1 << 31  # its part of the memory that look-ahead may take
    delivered: int = 0
    prepared: int = 0
    shared: int = 0
    _last_want: float = 0.0
    _ready: int = 0  # how many of the first positions are known to be ready, or failed

    def __post_init__(self) -> None:
        """Work out what is asked for at every turn."""
        # How many samples it is guaranteed at a time: a batch in hand and one in preparation.
        self.share = self.limits.share_batches * self.batch_size
        self._note_pace()

    @property
    def look_ahead(self) -> int:
        """How many samples should be asked for at a time: what it reads in horizon_s, or less.

        On demand it is what is wanted now.
        """
        if not self.share:
            return self.wanted
        return max(self.share, min(self.most_ahead, self._read_soon))

    @property
    def pace_known(self) -> bool:
        """Whether it has read for long enough to tell its pace."""
        return self.recent_s > self.limits.pace_s / 2

    @property
    def share_bytes(self) -> int:
        """The bytes of its share; 0 while the size of its samples is not known."""
        if self.reads_itself:
            return 0  # it has no claim on memory: what is here it takes
        source_bytes = self.recipe.sizes.usual_bytes if self.own else 0
        return self.share * self.sizes.usual_bytes + source_bytes

    @property
    def sizes(self) -> Sizes:
        """How large its samples are."""
        return self.own_sizes if self.own else self.recipe.sizes

    @property
    def private(self) -> bool:
        """Whether its fresh samples are its alone: its randomness then depends on its seed only."""
        return self.seed is not None

    @property
    def window(self) -> int:
        """How many samples are asked for or held."""
        return len(self.samples) + self.held_count

    @property
    def runs_low(self) -> bool:
        """Whether more of its pass should be planned."""
        return self.undrawn > 0 and len(self.positions) < self.look_ahead

    @property
    def may_ask(self) -> int:
        """For how many planned samples it should ask now."""
        if self.reads_itself:
            return 0
        asked = len(self.samples)
        return min(len(self.positions), self.look_ahead - self.held_count) - asked

    def check_begin(self, epoch: int, done: Array) -> None:
        """Refuse a pass that cannot be."""
        if epoch < 0:
            raise BadArgument(f"a pass begins in epoch {epoch}; epochs count from 0")
        count = self.rows.rows.size
        if not self.told and done.size and not (int(done.min()) >= 0 and int(done.max()) < count):
            raise BadArgument(
                f"a pass resumes after positions {done.min()} to {done.max()}; the job has {count}"
            )

    def numbers_of_pass(self, epoch: int, done: Array) -> Array:
        """Return the numbers to draw in a pass, in order where the order is its own."""
        if self.told:
            return np.empty(0, np.int64)
        return self.rows.left(done, epoch, self.seed)

    def tell(self, positions: Array, times: Array | None = None) -> None:
        """Plan these positions next; one may come again, so each gets a ticket in their stead."""
        if positions.size and not (
            int(positions.min()) >= 0 and int(positions.max()) < self.rows.rows.size
        ):
            raise BadArgument(
                f"job {self.job} wants positions {positions.min()} to {positions.max()}; it has "
                f"{self.rows.rows.size}"
            )
        tickets = range(self.tickets, self.tickets + positions.size)
        before = [0] * positions.size if times is None else times.tolist()
        places = zip(positions.tolist(), before, strict=True)
        self.told_places.update(zip(tickets, places, strict=True))
        self.positions += tickets
        self.tickets += positions.size
        self.homes += (self.recipe.base + self.rows.rows[positions].astype(np.int64)).tolist()

    def origin(self, position: int) -> tuple[int, int, int]:
        """Return where the random numbers of a planned position start: see `Prepare`."""
        place = self.told_places[position] if self.told else (position, 0)
        return (self.key, *place)

    def extend(self, numbers: Array) -> None:
        """Plan these draws next."""
        positions = self.rows.positions(numbers)
        self.positions += positions.tolist()
        self.homes += (self.recipe.base + self.rows.rows[positions].astype(np.int64)).tolist()
        self.undrawn -= numbers.size

    def due(self) -> int | None:
        """Return how many samples to deliver now, if the batch wanted next is here.

        It is less than wanted at the end of a pass, and 0 after it. What is held at a time stays
        within the share: all else can be taken back for others. On demand it is one delivery.
        """
        if not self.wants or self.inspected:
            return None
        count = self.wants[0]
        if count > len(self.positions):
            if self.undrawn:
                return None
            count = len(self.positions)
        if self.held_count + count > max(self.share, count):
            return None
        if self.reads_itself:
            return count
        while self._ready < len(self.samples) and self.positions[self._ready] not in self.unready:
            self._ready += 1
        return count if count <= self._ready else None

    def take(self, count: int) -> tuple[list[int], list[int], list[int]]:
        """Take the next off the plan, and return positions, homes and samples."""
        self.wanted -= self.wants.popleft()
        self._ready = max(0, self._ready - count)
        taken = self.positions[:count], self.homes[:count], self.samples[:count]
        del self.positions[:count], self.homes[:count], self.samples[:count]
        if self.told:
            for ticket in taken[0]:
                del self.told_places[ticket]
        return taken

    def unask(self) -> tuple[int, int]:
        """Make the farthest that is asked for merely planned; return its position and sample."""
        sample = self.samples.pop()
        self._ready = min(self._ready, len(self.samples))
        return self.positions[len(self.samples)], sample

    def hold(self, samples: list[int]) -> None:
        """Note that these were delivered."""
        held = self.held
        for sample in samples:
            held[sample] = held.get(sample, 0) + 1
        self.held_count += len(samples)

    def let_go(self, samples: list[int]) -> None:
        """Note that these were released; BadArgument where it does not hold one of them."""
        held, released = self.held, Counter(samples)
        for sample, count in released.items():
            if count > held.get(sample, 0):
                raise BadArgument(
                    f"job {self.job} releases sample {sample} {count} times and holds "
                    f"{held.get(sample, 0)} of it; release each once"
                )
        for sample, count in released.items():
            if held[sample] == count:
                del held[sample]
            else:
                held[sample] -= count
        self.held_count -= len(samples)

    def drop_wants(self) -> None:
        """Forget what it wanted: it begins another pass."""
        self.wants.clear()
        self.pending.clear()
        self.steps.clear()
        self.wanted = 0

    def note_want(self, count: int, now: float) -> None:
        """Queue a request, and note how fast the job reads."""
        self.wants.append(count)
        self.wanted += count
        self.note_rate(count, now)

    def note_rate(self, count: int, now: float) -> None:
        """Note that so many are read now."""
        # Not a rate from the time between two requests: jobs ask for their first batches at once.
        gone_s = max(0.0, now - self._last_want) if self.recent else 0.0
        kept = self.limits.pace_s / (self.limits.pace_s + gone_s)
        self.recent = self.recent * kept + count
        self.recent_s = (self.recent_s + gone_s) * kept
        self._last_want = max(now, self._last_want)
        self._note_pace()

    def _note_pace(self) -> None:
        # `recent` includes the batch wanted last, whose time has not come yet.
        since_s = self.recent_s if self.pace_known else self.limits.pace_s
        self.pace = max(self.recent - self.batch_size, 1.0) / since_s
        self._read_soon = max(self.limits.least_ahead, ceil(self.pace * self.limits.horizon_s))

    def statistics(self) -> ReadStatistics:
        """Return what the job got so far."""
        hits = self.delivered - self.prepared
        return ReadStatistics(self.delivered, self.prepared, hits, self.shared)
