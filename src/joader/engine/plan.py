"""What a job reads next: drawn, or told. The plan says what comes; the window holds what is asked.

Between the two travel *stretches*: places in order, and their rows. A plan knows no samples, slots
or workers, so that it can be made elsewhere. Not here: when and for whom is drawn (planner.py),
steps of ranks (team.py).
"""

from typing import NamedTuple

import numpy as np

from joader.engine.recipe_rows import JobRows
from joader.errors import BadArgument
from joader.messages import Array, Job, Join
from joader.sampling import Sampler, SequentialSampler

# Where the random numbers of a place in a pass start: the pass's key, the position, and how often
# that came before in it.
Origin = tuple[int, int, int]


class Stretch(NamedTuple):
    """What comes next in a pass.

    `places` are what the job is handed: positions of its dataset, or, if it was told them, their
    numbers in the order it was told, since one may come again.
    """

    places: Array
    rows: Array


class Drawn:
    """Positions that a sampler draws, with those of other jobs or in the job's own order."""

    def __init__(self, job: Job, rows: JobRows, sampler: Sampler, seed: int | None) -> None:
        """Draw from what is left of these rows; `seed` is of the order "seeded"."""
        self.sampler = sampler
        self.undrawn = 0
        self._job, self._rows, self._seed = job, rows, seed
        self.key = 0
        self._drawing = False

    def check(self, done: Array) -> None:
        """Refuse a pass that cannot be."""
        count = self._rows.rows.size
        if done.size and not (int(done.min()) >= 0 and int(done.max()) < count):
            raise BadArgument(
                f"a pass resumes after positions {done.min()} to {done.max()}; the job has {count}"
            )

    def begin(self, epoch: int, done: Array, key: int) -> Array:
        """Begin a pass without what is done; return the numbers it will draw."""
        self.key = key
        numbers = self._rows.left(done, epoch, self._seed)
        self._draw_from(numbers, epoch)
        return numbers

    def begin_again(self, planned: Array, epoch: int) -> None:
        """Draw anew what was planned and not read, together with what was not drawn."""
        numbers = self._rows.numbers[planned]
        self._draw_from(np.concatenate([numbers, self.sampler.unread(self._job)]), epoch)

    def _draw_from(self, numbers: Array, epoch: int) -> None:
        self.end()
        self.sampler.add(self._job, numbers, epoch)
        self._drawing = True
        self.undrawn = numbers.size

    def end(self) -> None:
        """Draw no more."""
        if self._drawing:
            self.sampler.remove(self._job)
            self._drawing = False

    def drew(self, numbers: Array) -> Stretch:
        """Note what the sampler has drawn, and return it as what comes next."""
        self.undrawn -= numbers.size
        positions = self._rows.positions(numbers)
        return Stretch(positions, self._rows.rows[positions].astype(np.int64))

    def origin(self, place: int) -> Origin:
        """Return where the random numbers of a place start."""
        return self.key, place, 0

    def read(self, places: list[int]) -> None:
        """Note that these were handed out."""


class Told:
    """Positions that the job says with each of its wants, or that its rank is told by a team."""

    undrawn = 0  # nothing is known before it is told

    def __init__(self, job: Job, rows: JobRows) -> None:
        """Wait to be told."""
        self._job, self._rows = job, rows
        self.key = 0
        self._told = 0  # how many, in this pass
        self._origins: dict[int, tuple[int, int]] = {}  # by number: the position, and its times

    def check(self, done: Array) -> None:
        """Accept what the sampler says: it alone knows what is left."""

    def begin(self, epoch: int, done: Array, key: int) -> Array:
        """Begin a pass; what it may need is all its rows."""
        self.key = key
        self._told = 0
        self._origins.clear()
        return self._rows.numbers.astype(np.int64)

    def end(self) -> None:
        """Do nothing: nobody draws."""

    def tell(self, positions: Array, times: Array | None) -> Stretch:
        """Take what comes next; `times`: how often each came before in this pass."""
        count = self._rows.rows.size
        if positions.size and not (int(positions.min()) >= 0 and int(positions.max()) < count):
            raise BadArgument(
                f"job {self._job} wants positions {positions.min()} to {positions.max()}; it has "
                f"{count}"
            )
        numbers = np.arange(self._told, self._told + positions.size)
        before = [0] * positions.size if times is None else times.tolist()
        origins = zip(positions.tolist(), before, strict=True)
        self._origins.update(zip(numbers.tolist(), origins, strict=True))
        self._told += positions.size
        return Stretch(numbers, self._rows.rows[positions].astype(np.int64))

    def origin(self, place: int) -> Origin:
        """Return where the random numbers of a place start."""
        return (self.key, *self._origins[place])

    def read(self, places: list[int]) -> None:
        """Note that these were handed out."""
        for place in places:
            del self._origins[place]


Plan = Drawn | Told


def plan_of(join: Join, job: Job, rows: JobRows, sampler: Sampler | None) -> Plan:
    """Return the plan of a job; `sampler` is that of its recipe, None if the job is told.

    A job that does not share the order draws by itself, in its own.
    """
    if sampler is None:
        return Told(job, rows)
    seed = join.seed if join.order == "seeded" else None
    return Drawn(job, rows, sampler if join.order == "shared" else SequentialSampler(), seed)
