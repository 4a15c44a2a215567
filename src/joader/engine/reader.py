"""One job inside the engine: what is planned for it, what it asked for, what it waits for.

A planned sample is
- *planned*: in `samples`, beyond `asked`; nothing is held for it;
- *asked for*: among the first `asked`; the job holds a lease on it, or it is in `unready`;
- *held*: delivered and not released; no longer in `samples`, counted in `held`.

Plan order is delivery order. Not here: which samples are planned (planner.py), where they are
(cache).
"""

from collections import deque
from dataclasses import dataclass, field

from joader.engine.recipe_rows import Array, JobRows
from joader.engine.values import Job
from joader.sampling import Sampler


@dataclass(frozen=True, slots=True)
class Stats:
    """What a job got: delivered = hits + prepared; `shared` hits were prepared for another."""

    delivered: int
    prepared: int
    hits: int
    shared: int


@dataclass
class Recipe:
    """What jobs with equal preparations share: a sampler, a range of sample numbers, a size."""

    name: str
    row_limit: int
    base: int
    fresh: bool
    sampler: Sampler
    size_bytes: int = 0  # of the largest sample so far; 0 while none is known
    readers: list["Reader"] = field(default_factory=list)


@dataclass
class Reader:
    """A job's plan and windows."""

    job: Job
    recipe: Recipe
    rows: JobRows
    batch_size: int
    sampler: Sampler
    positions: list[int] = field(default_factory=list)
    samples: list[int] = field(default_factory=list)
    asked: int = 0
    held: int = 0
    wants: deque[int] = field(default_factory=deque)
    unready: set[int] = field(default_factory=set)
    failed: dict[int, str] = field(default_factory=dict)
    in_pass: bool = False
    rate: float = 0.0  # samples a second, smoothed
    last_want: float = -1.0
    delivered: int = 0
    prepared: int = 0
    shared: int = 0

    @property
    def share(self) -> int:
        """How many samples it is guaranteed at a time: a batch in hand and one in preparation."""
        return 2 * self.batch_size

    @property
    def window(self) -> int:
        """How many samples are asked for or held."""
        return self.asked + self.held

    def remaining(self) -> int:
        """How many positions of its pass are not planned."""
        return self.sampler.remaining(self.job) if self.in_pass else 0

    def extend(self, numbers: Array) -> None:
        """Plan these draws next."""
        positions = self.rows.positions(numbers)
        self.positions += positions.tolist()
        self.samples += (self.recipe.base + self.rows.rows[positions]).tolist()

    def due(self) -> int:
        """Return how many samples can be delivered now: the batch wanted next, if it is here."""
        if not self.wants:
            return 0
        count = min(self.wants[0], len(self.samples))
        if count < self.wants[0] and self.remaining():
            return 0
        if count > self.asked or (
            self.unready and not self.unready.isdisjoint(self.samples[:count])
        ):
            return 0
        return count

    def take(self, count: int) -> tuple[list[int], list[int]]:
        """Take the next samples off the plan, and return their positions and them."""
        positions, samples = self.positions[:count], self.samples[:count]
        del self.positions[:count], self.samples[:count]
        self.asked -= count
        return positions, samples

    def clear_plan(self) -> None:
        """Forget what is planned and wanted."""
        self.positions.clear()
        self.samples.clear()
        self.failed.clear()
        self.wants.clear()

    def stats(self) -> Stats:
        """Return what the job got so far."""
        return Stats(self.delivered, self.prepared, self.delivered - self.prepared, self.shared)

    def note_want(self, count: int, now: float) -> None:
        """Queue a request and smooth the rate over about eight of them."""
        self.wants.append(count)
        if self.last_want >= 0 and now > self.last_want:
            latest = count / (now - self.last_want)
            self.rate = latest if not self.rate else self.rate + (latest - self.rate) / 8
        self.last_want = now
