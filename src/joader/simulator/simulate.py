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
from joader.sampling.sampler import checked_seed
from joader.simulator.job import Job, checked_jobs

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
    jobs: Iterable[Job],
    sampler: str | Sampler = "dependent",
    policy: str | Policy = "expected",
    capacity: int = 1,
    seed: int = 0,
) -> Result:
    """Run the jobs to their end with a cache of `capacity` samples and count.

    Sampler and policy are names (SAMPLERS, POLICIES) or objects; an object is used up by the run.
    """
    given = checked_jobs(jobs)
    return replay(given, trace(given, sampler, seed), policy, capacity, seed)


def trace(
    jobs: Iterable[Job], sampler: str | Sampler = "dependent", seed: int = 0
) -> Iterator[Event]:
    """Return what the jobs ask for, in order; wrong arguments raise at once."""
    return _events(checked_jobs(jobs), _chosen(sampler, SAMPLERS, "sampler", "draw", seed))


def replay(
    jobs: Iterable[Job],
    events: Iterable[Event],
    policy: str | Policy = "expected",
    capacity: int = 1,
    seed: int = 0,
) -> Result:
    """Send the requests of a trace through a cache of `capacity` samples and count.

    A policy given as an object must be new: it keeps the samples of the cache it served.
    """
    if isinstance(capacity, bool) or not isinstance(capacity, int | np.integer) or capacity < 1:
        raise BadArgument(f"capacity is {capacity!r}; it is an integer, at least one sample")
    chosen = _chosen(policy, POLICIES, "policy", "order", seed)
    if next(iter(chosen.order()), None) is not None:
        raise BadArgument(
            f"policy {chosen!r} has served another cache; make a new one for every run"
        )
    cache = Cache(int(capacity) * SLOT_BYTES, chosen)
    given = checked_jobs(jobs)
    delivered, prepared, shared = Counter[int](), Counter[int](), Counter[int]()
    prepared_for: dict[int, int] = {}
    for event in events:
        if isinstance(event, Begin):
            cache.begin(event.job, np.asarray(given[event.job].rows))
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
        for n in range(len(given))
    )
    totals = (delivered.total(), prepared.total(), delivered.total() - prepared.total())
    return Result(*totals, shared.total(), parts)


def _events(jobs: Sequence[Job], sampler: Sampler) -> Iterator[Event]:
    clocks = [_Clock(number, job) for number, job in enumerate(jobs)]
    now = Fraction(0)
    while clocks:
        yield from _start_passes(sampler, clocks, now)
        clocks = [clock for clock in clocks if not clock.finished]
        active = [clock for clock in clocks if clock.left]
        now = _next_stop(clocks, active, now)
        counts = {clock.number: clock.advance(now) for clock in active}
        yield Rates({clock.number: float(clock.speed) / max(1, clock.left) for clock in active})
        yield from _requests(sampler, {number: count for number, count in counts.items() if count})


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
        self.began = self.start = Fraction(self.job.start)
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


def _start_passes(sampler: Sampler, clocks: Iterable[_Clock], now: Fraction) -> Iterator[Event]:
    for clock in clocks:
        if not clock.left and not clock.finished and now >= clock.start:
            sampler.add(clock.number, clock.job.rows, epoch=clock.passes)
            clock.passes += 1
            clock.began, clock.taken = now, 0
            clock.left = sampler.remaining(clock.number)
            yield Begin(clock.number)


def _next_stop(clocks: Iterable[_Clock], active: Sequence[_Clock], now: Fraction) -> Fraction:
    """Return the tick's end: an arrival, the end of a pass, or TICK rows of the fastest."""
    stops = [clock.start for clock in clocks if clock.start > now]
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


def _chosen(
    choice: str | T, known: Mapping[str, Callable[[int], T]], what: str, method: str, seed: int
) -> T:
    """Return the sampler or policy of this name, or the object itself."""
    if not isinstance(choice, str):
        if not callable(getattr(choice, method, None)) or isinstance(choice, type):
            raise BadArgument(f"{what} is {choice!r}; give a {what} or one of {', '.join(known)}")
        return choice
    if choice not in known:
        raise BadArgument(f"{what} is {choice!r}; there are {', '.join(known)}")
    return known[choice](checked_seed(seed))
