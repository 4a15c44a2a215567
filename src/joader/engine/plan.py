"""What a job reads next: drawn by a sampler, or told by the job.

The plan says what comes next, the window (reader.py) holds what was asked for. A plan hands over
*stretches*: places in order, and their rows. It knows no samples, slots or workers, so it can be
made on another node: the rest of a `coupled` plan is drawn there, by a plan that is `Lent`. Not
here: when to draw, and for which jobs (planner.py), steps of ranks (team.py), what nodes send each
other (couplings.py).
"""

from collections.abc import Hashable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joader.engine.samplers import JOINT, SHARED, Samplers
from joader.errors import BadArgument
from joader.messages import Array, Begin, Job, Join
from joader.messages.fields import NONE
from joader.sampling import Sampler, StreamSampler
from joader.sampling.job_rows import JobRows

# Where the random numbers of a place in a pass start: the pass's key, the position, and how often
# that came before in it.
Origin = tuple[int, int, int]


class Stretch(NamedTuple):
    """What comes next in a pass.

    `places` are what the job is handed: positions of its dataset; or, if the job told them, their
    numbers in that order, because a position may come again.
    """

    places: Array
    rows: Array


class Drawn:
    """Positions that a sampler draws, jointly with other jobs or in the job's own order."""

    def __init__(self, job: Job, rows: JobRows, sampler: Sampler, seed: int | None) -> None:
        """Draw from what is left of these rows; `seed` is of the order "seeded"."""
        self.sampler = self._here = sampler
        self.name: Hashable = job  # by which the sampler knows it
        self.undrawn = 0
        self._rows, self._seed = rows, seed
        self.key = 0
        self._drawing = False
        self._awaited: NDArray[np.bool_] | None = None  # by position, if another node draws

    def check(self, done: Array) -> None:
        """Raise BadArgument if a pass cannot resume after these positions."""
        count = self._rows.rows.size
        if done.size and not (int(done.min()) >= 0 and int(done.max()) < count):
            raise BadArgument(
                f"a pass resumes after positions {done.min()} to {done.max()}; the job has {count}"
            )

    def begin(self, event: Begin, life: int, behind: int = 0) -> Array:
        """Begin a pass without what is done; return the numbers it will draw.

        `life` is that of the engine: if the event has the same, the job drew in this engine, under
        another name. Other jobs read `behind` rows behind what they have drawn.
        """
        self.key = event.key
        numbers = self._rows.left(event.done, event.epoch, self._seed)
        self.end()
        self.sampler, self._awaited = self._here, None
        self._add(numbers, event, life, behind)
        self._drawing, self.undrawn = True, numbers.size
        return numbers

    def _add(self, numbers: Array, event: Begin, life: int, behind: int) -> None:
        self.sampler.add(self.name, numbers, event.epoch)

    @property
    def may_be_drawn_again(self) -> bool:
        """Whether draws that were not read may be drawn again, together with other jobs."""
        return True

    def begin_again(self, planned: Array, epoch: int) -> None:
        """Draw again what was planned and not read, together with what was not drawn."""
        numbers = np.concatenate([self._rows.numbers[planned], self.sampler.unread(self.name)])
        self.end()
        self.sampler.add(self.name, numbers, epoch)
        self._drawing, self.undrawn = True, numbers.size

    def end(self) -> None:
        """Draw no more."""
        if self._drawing:
            self._remove()
            self._drawing = False

    def _remove(self) -> None:
        self.sampler.remove(self.name)

    @property
    def is_drawing(self) -> bool:
        """Whether the sampler knows this pass."""
        return self._drawing

    def drew(self, numbers: Array) -> Stretch:
        """Note what the sampler has drawn, and return it as what comes next."""
        self.undrawn -= numbers.size
        positions = self._rows.positions(numbers)
        if self._awaited is not None:
            self._awaited[positions] = False
        return Stretch(positions, self._rows.rows[positions].astype(np.int64))

    def origin(self, place: int) -> Origin:
        """Return where the random numbers of a place start."""
        return self.key, place, 0

    def read(self, places: list[int]) -> None:
        """Note that these were handed out."""

    # What another node draws.

    @property
    def coupled(self) -> bool:
        """Whether another node draws what is left of the pass."""
        return self._awaited is not None

    @property
    def awaited(self) -> Array:
        """The numbers that are left to be drawn there."""
        if self._awaited is None:
            return NONE
        return self._rows.numbers[self._awaited].astype(np.int64)

    def couple(self, planned: Array, elsewhere: Sampler) -> None:
        """Stop drawing here, also what was planned and not read; `elsewhere` draws instead."""
        awaited = np.zeros(self._rows.numbers.size, np.bool_)
        awaited[planned] = True
        awaited[self._rows.positions(self.sampler.unread(self.name))] = True
        self.end()
        self.sampler, self._awaited = elsewhere, awaited
        self.undrawn = int(np.count_nonzero(awaited))

    def uncouple(self, epoch: int) -> None:
        """Draw here again what has not come."""
        numbers = self.awaited
        self.sampler, self._awaited = self._here, None
        self.sampler.add(self.name, numbers, epoch)
        self._drawing, self.undrawn = True, numbers.size

    def check_sent(self, numbers: Array) -> None:
        """Raise BadArgument if another node cannot have drawn these numbers."""
        positions = self._rows.find(numbers)
        known = self._awaited is not None and bool(
            (positions >= 0).all()
            and self._awaited[positions].all()
            and np.unique(positions).size == positions.size
        )
        if not known:
            raise BadArgument("rows were drawn elsewhere that the job does not wait for")


class Lent(Drawn):
    """Draws for a job on another node; they are sent there, so they stay drawn."""

    def __init__(self, job: Job, rows: JobRows, sampler: Sampler) -> None:
        """Draw with the jobs that are here."""
        super().__init__(job, rows, sampler, seed=None)
        self.to_send: list[Array] = []
        self.wanted = 0  # and not taken off the window yet

    def begin(self, event: Begin, life: int, behind: int = 0) -> Array:
        """Begin a pass; draws of the one before are not sent any more."""
        self.to_send, self.wanted = [], 0
        return super().begin(event, life, behind)

    @property
    def may_be_drawn_again(self) -> bool:
        """Whether draws that were not read may be drawn again: no."""
        return False

    def drew(self, numbers: Array) -> Stretch:
        """Note what the sampler has drawn and keep it to be sent."""
        self.to_send.append(numbers)
        return super().drew(numbers)


class Followed(Drawn):
    """Positions of a stream, which other jobs follow, too.

    What was drawn stays drawn: the order must not depend on which jobs come meanwhile.
    """

    def __init__(
        self, job: Job, rows: JobRows, samplers: Samplers, whom: str, seed: int | None
    ) -> None:
        """Draw in the name that the job reads for; `seed` is what it gives the stream."""
        super().__init__(job, rows, samplers.sampler(SHARED), seed=None)
        self._job, self._samplers, self._whom, self._gives = job, samplers, whom, seed

    def _add(self, numbers: Array, event: Begin, life: int, behind: int) -> None:
        followed, rest = 0 < event.life == life, bool(event.done.size)
        if self._samplers.stream and event.life not in (0, life):
            # It may have followed these very orders on another node, or here before a restart.
            self._samplers.bar(self._whom)
        if self._samplers.may_follow(self._whom) and self._samplers.enter(self._whom, self):
            self.sampler, self.name = self._samplers.sampler(SHARED), self._whom
        else:
            self.sampler, self.name = self._samplers.apart(), self._job
        if isinstance(self.sampler, StreamSampler):
            self.sampler.add(
                self.name,
                numbers,
                rest=rest,
                followed=followed,
                behind=behind,
                seed=self._gives,
                after=self._samplers.barred(self._whom),
            )
        else:
            self.sampler.add(self.name, numbers)

    @property
    def may_be_drawn_again(self) -> bool:
        """Whether draws that were not read may be drawn again: no."""
        return False

    def _remove(self) -> None:
        # Once another pass draws in this name, this one has no part in the stream any more.
        if self.is_drawing:
            self.sampler.remove(self.name)
            if self.name == self._whom:
                self._samplers.leave(self._whom)

    @property
    def is_drawing(self) -> bool:
        """Whether the sampler knows this pass."""
        return self._drawing and (self.name != self._whom or self._samplers.holds(self._whom, self))


class Told:
    """Positions that a job sends with each request, or that a team tells its rank."""

    undrawn = 0  # nothing is known before it is told
    coupled = False

    def __init__(self, job: Job, rows: JobRows, needs: bool = True) -> None:
        """Wait to be told; `needs`: the job may need any of its rows (of a rank, its lead does)."""
        self._job, self._rows, self._needs = job, rows, needs
        self.key = 0
        self._told = 0  # how many, in this pass
        self._origins: dict[int, tuple[int, int]] = {}  # by number: the position, and its times

    def check(self, done: Array) -> None:
        """Accept anything: only the job's own sampler knows what is left."""

    def begin(self, event: Begin, life: int, behind: int = 0) -> Array:
        """Begin a pass; what it may need is all its rows."""
        self.key = event.key
        self._told = 0
        self._origins.clear()
        return self._rows.numbers[: None if self._needs else 0].astype(np.int64)

    def end(self) -> None:
        """Do nothing: no sampler draws for it."""

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


def plan_of(join: Join, job: Job, rows: JobRows, samplers: Samplers, whom: str) -> Plan:
    """Return the plan of a job that draws in the name `whom`, which it reads for."""
    if join.order == SHARED:
        return Followed(job, rows, samplers, whom, join.seed)
    if join.order == JOINT and join.remote and not join.team:
        return Lent(job, rows, samplers.sampler(JOINT))
    seed = (join.seed or 0) if join.order == "seeded" else None
    return Drawn(job, rows, samplers.sampler(join.order), seed)
