"""Jobs of any size, speed, arrival and epochs on a virtual clock, with the real rooms.

In two steps, since what is drawn does not depend on the cache: `trace` lets the sampler draw,
`replay` sends the requests through a cache. Requests of one round for the same row are one request.
A preparation counts for the first job of its round; every other delivery is a hit, and *shared* if
another job's preparation served it.

Time is exact (fractions); nothing sleeps. The clock goes on in ticks of TICK rows of the fastest
job, cut at arrivals and at the end of every pass, and each tick is one joint draw.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from joader.cache import (
    Cache,
    ExpectedUse,
    Fifo,
    Lru,
    Policy,
    RandomReplacement,
    RefCount,
)
from joader.errors import BadArgument
from joader.sampling import (
    DependentSampler,
    IndependentSampler,
    LockstepSampler,
    Sampler,
    SeededSampler,
    SequentialSampler,
)
from joader.sampling.rounds import players_by_round

T = TypeVar("T")

TICK = 64
SLOT_BYTES = 64  # every sample takes one slot, so that capacity is a number of samples

SAMPLERS: Mapping[str, Callable[[int], Sampler]] = {
    "dependent": DependentSampler,
    "paper": lambda seed: DependentSampler(seed, rule="paper"),
    "common": lambda seed: DependentSampler(seed, rule="common"),
    "independent": IndependentSampler,
    "seeded": SeededSampler,
    "lockstep": LockstepSampler,
    "sequential": lambda seed: SequentialSampler(),
}
POLICIES: Mapping[str, Callable[[int], Policy]] = {
    "refcount": lambda seed: RefCount(),
    "expected": lambda seed: ExpectedUse(),
    "lru": lambda seed: Lru(),
    "fifo": lambda seed: Fifo(),
    "random": RandomReplacement,
}


@dataclass(frozen=True)
class Job:
    """A training job: what it reads, how fast (rows per unit of time), from when, how often."""

    rows: ArrayLike
    speed: float = 1.0
    start: float = 0.0
    epochs: int = 1


@dataclass(frozen=True)
class JobResult:
    """What a job got: delivered = hits + prepared; `shared` hits were prepared for another."""

    delivered: int
    prepared: int
    hits: int
    shared: int


@dataclass(frozen=True)
class Result(JobResult):
    """The totals, and each job's part in the order the jobs were given."""

    jobs: tuple[JobResult, ...]


@dataclass(frozen=True)
class Begin:
    """A job begins a pass over its rows."""

    job: int


@dataclass(frozen=True)
class Rates:
    """From now on each job in its pass asks for each of its unread rows at this rate."""

    by_job: Mapping[int, float]


Request = tuple[int, tuple[int, ...]]  # a row, and the jobs that ask for it together
Event = Begin | Rates | Request


def simulate(
    jobs: Sequence[Job],
    sampler: str | Sampler = "dependent",
    policy: str | Policy = "expected",
    capacity: int = 1,
    seed: int = 0,
) -> Result:
    """Run the jobs to their end with a cache of `capacity` samples and count."""
    return replay(jobs, trace(jobs, sampler, seed), policy, capacity, seed)


def trace(
    jobs: Sequence[Job], sampler: str | Sampler = "dependent", seed: int = 0
) -> Iterator[Event]:
    """Yield what the jobs ask for, in order."""
    for number, job in enumerate(jobs):
        _check(number, job)
    chosen = _chosen(sampler, SAMPLERS, "sampler", seed)
    clocks = [_Clock(number, job) for number, job in enumerate(jobs)]
    now = Fraction(0)
    while clocks:
        yield from _start_passes(chosen, jobs, clocks, now)
        clocks = [clock for clock in clocks if not clock.finished]
        active = [clock for clock in clocks if clock.left]
        now = _next_stop(clocks, active, now)
        counts = {clock.number: clock.advance(now) for clock in active}
        yield Rates({clock.number: float(clock.speed) / max(1, clock.left) for clock in active})
        yield from _requests(chosen, {number: count for number, count in counts.items() if count})


def replay(
    jobs: Sequence[Job],
    events: Iterable[Event],
    policy: str | Policy = "expected",
    capacity: int = 1,
    seed: int = 0,
) -> Result:
    """Send the requests of a trace through a cache of `capacity` samples and count."""
    if isinstance(capacity, bool) or not isinstance(capacity, int | np.integer) or capacity < 1:
        raise BadArgument(f"capacity is {capacity!r}; a cache holds at least one sample")
    cache = Cache(int(capacity) * SLOT_BYTES, _chosen(policy, POLICIES, "policy", seed))
    rows = [np.asarray(job.rows) for job in jobs]
    delivered, prepared, shared = Counter[int](), Counter[int](), Counter[int]()
    prepared_for: dict[int, int] = {}
    for event in events:
        if isinstance(event, Begin):
            cache.begin(event.job, rows[event.job])
        elif isinstance(event, Rates):
            for number, value in event.by_job.items():
                cache.rate(number, value)
        else:
            row, takers = event
            if not cache.request(takers, row, SLOT_BYTES):
                prepared_for[row] = takers[0]
                prepared[takers[0]] += 1
            owner = prepared_for[row]
            for number in takers:
                delivered[number] += 1
                shared[number] += number != owner
    parts = tuple(
        JobResult(delivered[n], prepared[n], delivered[n] - prepared[n], shared[n])
        for n in range(len(jobs))
    )
    totals = (delivered.total(), prepared.total(), delivered.total() - prepared.total())
    return Result(*totals, shared.total(), parts)


@dataclass
class _Clock:
    """Where one job is: when its pass began, how many rows it has taken of it."""

    number: int
    job: Job
    began: Fraction = field(init=False)
    passes: int = 0
    taken: int = 0
    left: int = 0

    def __post_init__(self) -> None:
        self.began = Fraction(self.job.start)
        self.speed = Fraction(self.job.speed)

    @property
    def finished(self) -> bool:
        return not self.left and self.passes == self.job.epochs

    def end_of_pass(self) -> Fraction:
        return self.began + (self.taken + self.left) / self.speed

    def advance(self, now: Fraction) -> int:
        """Return how many rows are due by now, and take them."""
        due = int((now - self.began) * self.speed) - self.taken
        self.taken += due
        self.left -= due
        return due


def _start_passes(
    sampler: Sampler, jobs: Sequence[Job], clocks: Iterable[_Clock], now: Fraction
) -> Iterator[Event]:
    for clock in clocks:
        if not clock.left and not clock.finished and now >= Fraction(clock.job.start):
            sampler.add(clock.number, jobs[clock.number].rows, epoch=clock.passes)
            clock.passes += 1
            clock.began, clock.taken = now, 0
            clock.left = sampler.remaining(clock.number)
            yield Begin(clock.number)


def _next_stop(clocks: Iterable[_Clock], active: Sequence[_Clock], now: Fraction) -> Fraction:
    """Return the tick's end: an arrival, the end of a pass, or TICK rows of the fastest."""
    stops = [Fraction(clock.job.start) for clock in clocks if clock.job.start > now]
    stops += [clock.end_of_pass() for clock in active]
    if active:
        stops.append(now + TICK / max(clock.speed for clock in active))
    return min(stops, default=now)


def _requests(sampler: Sampler, counts: Mapping[int, int]) -> Iterator[Request]:
    if not counts:
        return
    drawn = {number: iter(rows.tolist()) for number, rows in sampler.draw(counts).items()}
    masks = [(1 << place, count) for place, count in enumerate(counts.values())]
    numbers = list(counts)
    for players in players_by_round(masks, max(counts.values())):
        takers: dict[int, list[int]] = {}
        for place, number in enumerate(numbers):
            if players >> place & 1:
                takers.setdefault(next(drawn[number]), []).append(number)
        for row, who in takers.items():
            yield row, tuple(who)


def _check(number: int, job: Job) -> None:
    if not job.speed > 0:
        raise BadArgument(f"job {number} has speed {job.speed!r}; a speed is above 0")
    if not job.start >= 0:
        raise BadArgument(f"job {number} starts at {job.start!r}; a start is 0 or later")
    if isinstance(job.epochs, bool) or not isinstance(job.epochs, int) or job.epochs < 0:
        raise BadArgument(f"job {number} has {job.epochs!r} epochs; it is an integer >= 0")


def _chosen(choice: str | T, known: Mapping[str, Callable[[int], T]], what: str, seed: int) -> T:
    if not isinstance(choice, str):
        return choice
    if choice not in known:
        raise BadArgument(f"{what} is {choice!r}; there are {', '.join(known)}")
    return known[choice](seed)
