"""One job inside the engine: its terms, its plan, its window, its pace.

The *window* is what a job has asked for and holds, between its plan and its batches. A place of its
pass is
- *planned*: in `places`, and its row's sample number in `homes`; nothing is held for it;
- *asked for*: one of the first in `places`, its sample in `samples`. It is in `unready` while in
  preparation, in `failed` if that went wrong, and else ready;
- *held*: delivered and not released; its sample is counted in `held`.

Plan order is delivery order. A job has a lease for each place that is asked for or held and has a
slot. Not here: which places are planned (plan.py), leases and preparations (supply.py).
"""

from collections import Counter, deque
from dataclasses import dataclass, field
from math import ceil

from joader.engine.limits import Limits
from joader.engine.plan import Drawn, Origin, Plan, Stretch, Told
from joader.engine.recipes import Recipe
from joader.engine.sizes import Sizes
from joader.errors import BadArgument
from joader.messages import Array, Job, Join
from joader.sampling.job_rows import JobRows
from joader.schedule.limits.pace import ReadingPace
from joader.schedule.shares.memory import Holding
from joader.statistics import FlowStatistics, ReadStatistics


@dataclass(eq=False)
class Window:
    """Places that are planned, asked for or held."""

    places: list[int] = field(default_factory=list)
    homes: list[int] = field(default_factory=list)
    samples: list[int] = field(default_factory=list)
    unready: set[int] = field(default_factory=set)
    failed: dict[int, str] = field(default_factory=dict)
    held: dict[int, int] = field(default_factory=dict)  # sample: how often
    held_count: int = 0
    wants: deque[int] = field(default_factory=deque)
    wanted: int = 0  # the sum of wants
    _ready: int = 0  # how many of the first places are known to be ready, or failed

    @property
    def size(self) -> int:
        """How many samples are asked for or held."""
        return len(self.samples) + self.held_count

    def plan(self, stretch: Stretch, base: int) -> None:
        """Take in what comes next; `base` is the first sample number of the job's recipe."""
        self.places += stretch.places.tolist()
        self.homes += (base + stretch.rows).tolist()

    def forget_plan(self) -> None:
        """Drop what is planned; nothing may be asked for."""
        assert not self.samples
        self.places.clear()
        self.homes.clear()

    def want(self, count: int) -> None:
        """Queue a request."""
        self.wants.append(count)
        self.wanted += count

    def drop_wants(self) -> None:
        """Forget all requests: the job begins another pass."""
        self.wants.clear()
        self.wanted = 0

    def next_count(self, more_to_come: bool) -> int | None:
        """Return the size of the next delivery; None while its places are not all planned.

        It is less than wanted at the end of a pass, and 0 after it.
        """
        if not self.wants:
            return None
        if self.wants[0] > len(self.places):
            return None if more_to_come else len(self.places)
        return self.wants[0]

    def are_ready(self, count: int) -> bool:
        """Tell whether the next `count` places are ready or have failed."""
        # Remembered from call to call: each place is looked at once, not once per report.
        while self._ready < len(self.samples) and self.places[self._ready] not in self.unready:
            self._ready += 1
        return count <= self._ready

    def take(self, count: int) -> tuple[list[int], list[int], list[int]]:
        """Take the next off, and return places, homes and samples."""
        self.wanted -= self.wants.popleft()
        self._ready = max(0, self._ready - count)
        taken = self.places[:count], self.homes[:count], self.samples[:count]
        del self.places[:count], self.homes[:count], self.samples[:count]
        return taken

    def unask(self) -> tuple[int, int]:
        """Make the farthest that is asked for merely planned; return its place and sample."""
        sample = self.samples.pop()
        self._ready = min(self._ready, len(self.samples))
        return self.places[len(self.samples)], sample

    def hold(self, samples: list[int]) -> None:
        """Note that these were delivered."""
        held = self.held
        for sample in samples:
            held[sample] = held.get(sample, 0) + 1
        self.held_count += len(samples)

    def let_go(self, job: Job, samples: list[int]) -> None:
        """Note that these were released; BadArgument if the job does not hold one of them."""
        held, released = self.held, Counter(samples)
        for sample, count in released.items():
            if count > held.get(sample, 0):
                raise BadArgument(
                    f"job {job} releases sample {sample} {count} times and holds "
                    f"{held.get(sample, 0)} of it; release each once"
                )
        for sample, count in released.items():
            if held[sample] == count:
                del held[sample]
            else:
                held[sample] -= count
        self.held_count -= len(samples)


@dataclass(frozen=True, slots=True)
class Terms:
    """What a job may get, fixed when it joins."""

    fresh: bool = False  # never the same preparation of a row twice
    private: bool = False  # its fresh samples are its alone, because their randomness is its seed's
    own: bool = False  # it has a part of its own, done for it alone
    reads_itself: bool = False  # nothing is prepared for it; it never asks
    elsewhere: bool = False  # it is a node that fetches; it has no needs of its own
    remote: bool = False  # a rank, or job, that gets its samples on its own node
    reads_for: str = ""  # jobs that read for the same never get a fresh sample twice

    @classmethod
    def of(cls, join: Join, reads_for: str) -> "Terms":
        """Return the terms that a job joins on."""
        return cls(
            fresh=join.fresh,
            private=join.fresh and join.order == "seeded",
            own=join.own,
            reads_itself=join.reads_itself,
            elsewhere=join.elsewhere,
            remote=join.remote,
            reads_for=reads_for,
        )


@dataclass(eq=False)
class Reader:
    """A job, or the lead of a team, which plans and never asks."""

    job: Job
    recipe: Recipe
    rows: JobRows
    batch_size: int
    limits: Limits
    plan: Plan
    terms: Terms
    lead: Job | None = None  # of a rank: the reader that has its needs
    window: Window = field(default_factory=Window)
    own_sizes: Sizes = field(default_factory=Sizes)
    inspected: set[int] = field(default_factory=set)  # what its workers have to compare first
    admitted: bool = False  # the size of its samples is known, and its share fits
    stuck: bool = False  # all was given up for its next batch, and it alone may ask
    in_pass: bool = False
    epoch: int = 0
    most_ahead: int = 1 << 31  # its part of the memory that look-ahead may take
    delivered: int = 0
    prepared: int = 0
    shared: int = 0
    taken_from: Counter[Job] = field(default_factory=Counter)  # what is shared, by whose it was

    def __post_init__(self) -> None:
        """Derive what is needed at every turn."""
        # How many samples it is guaranteed at a time: a batch in hand and one in preparation.
        self.share = self.limits.share_batches * self.batch_size
        self._asks = not (self.terms.reads_itself or self.terms.remote)
        self._owed = 0 if self.terms.remote else self.share
        self.pace = ReadingPace(self.batch_size, self.limits.pace_s)
        self._note_look_ahead()

    @property
    def key(self) -> int:
        """Where the pass's random numbers start."""
        return self.plan.key

    @property
    def look_ahead(self) -> int:
        """How many samples should be asked for at a time: what it reads in horizon_s, or less.

        On demand it is what is wanted now.
        """
        if not self.share:
            return self.window.wanted
        return max(self.share, min(self.most_ahead, self._read_soon))

    @property
    def lasts_s(self) -> float:
        """How many seconds what it has asked for or holds will last."""
        return self.window.size / self.pace.per_s

    @property
    def holding(self) -> Holding:
        """What it has of its share."""
        return Holding(self.window.size, self._owed, self.sizes.usual_bytes)

    @property
    def share_bytes(self) -> int:
        """The bytes of its share; 0 while the size of its samples is not known."""
        if self.terms.reads_itself or self.terms.remote:
            return 0  # it has no claim on memory and takes only what is ready
        source_bytes = self.recipe.sizes.usual_bytes if self.terms.own else 0
        return self.share * self.sizes.usual_bytes + source_bytes

    @property
    def sizes(self) -> Sizes:
        """How large its samples are."""
        return self.own_sizes if self.terms.own else self.recipe.sizes

    @property
    def runs_low(self) -> bool:
        """Whether more of its pass should be planned here."""
        low = self.plan.undrawn > 0 and len(self.window.places) < self.look_ahead
        return low and not self.plan.coupled

    @property
    def starves(self) -> bool:
        """Whether it wants what another node has not drawn yet."""
        if not self.plan.coupled or not self.plan.undrawn:
            return False
        return bool(self.window.wants) and self.window.wants[0] > len(self.window.places)

    @property
    def may_ask(self) -> int:
        """How many planned samples it should ask for now."""
        if not self._asks:
            return 0
        window = self.window
        most = min(len(window.places), self.look_ahead - window.held_count)
        return most - len(window.samples)

    def check_begin(self, epoch: int, done: Array) -> None:
        """Raise BadArgument if a pass cannot begin like this."""
        if epoch < 0:
            raise BadArgument(f"epoch={epoch} is negative; epochs count from 0")
        self.plan.check(done)

    @property
    def draws(self) -> bool:
        """Whether its passes are drawn, not told."""
        return isinstance(self.plan, Drawn)

    def draws_with(self, other: "Reader") -> bool:
        """Tell whether both draw from one sampler."""
        mine, its = self.plan, other.plan
        return isinstance(mine, Drawn) and isinstance(its, Drawn) and mine.sampler is its.sampler

    def tell(self, positions: Array, times: Array | None = None) -> None:
        """Plan these positions next."""
        assert isinstance(self.plan, Told)
        self.window.plan(self.plan.tell(positions, times), self.recipe.base)

    def drew(self, numbers: Array) -> None:
        """Plan these draws next."""
        assert isinstance(self.plan, Drawn)
        self.window.plan(self.plan.drew(numbers), self.recipe.base)

    def origin(self, place: int) -> Origin:
        """Return where the random numbers of a planned place start: see `Prepare`."""
        return self.plan.origin(place)

    def due(self) -> int | None:
        """Return how many samples to deliver now, if the batch wanted next is here.

        A job holds no more than its share at a time: all else can be taken back for other jobs. On
        demand it holds one delivery.
        """
        if self.inspected:
            return None
        count = self.window.next_count(more_to_come=self.plan.undrawn > 0)
        if count is None or self.window.held_count + count > max(self.share, count):
            return None
        return count if self.terms.reads_itself or self.window.are_ready(count) else None

    def take(self, count: int) -> tuple[list[int], list[int], list[int]]:
        """Take the next off the window, and return places, homes and samples."""
        taken = self.window.take(count)
        self.plan.read(taken[0])
        return taken

    def note_want(self, count: int, now: float) -> None:
        """Queue a request, and note how fast the job reads."""
        self.window.want(count)
        self.note_rate(count, now)

    def note_rate(self, count: int, now: float) -> None:
        """Note that `count` samples are read now."""
        self.pace.note(count, now)
        self._note_look_ahead()

    def _note_look_ahead(self) -> None:
        soon = ceil(self.pace.per_s * self.limits.horizon_s)
        self._read_soon = max(self.limits.least_ahead, soon)

    def statistics(self) -> ReadStatistics:
        """Return what the job got so far."""
        hits = self.delivered - self.prepared
        return ReadStatistics(self.delivered, self.prepared, hits, self.shared)

    def flow(self) -> FlowStatistics:
        """Return where the unread samples of its pass are."""
        window = self.window
        asked, unready = len(window.samples), len(window.unready)
        return FlowStatistics(
            to_come=self.plan.undrawn,
            planned=len(window.places) - asked,
            preparing=unready,
            ready=max(0, asked - unready),
            held=window.held_count,
        )
