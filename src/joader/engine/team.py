"""Ranks of one job: one plan for all, and every rank gets its part of each step.

A *step* is what all ranks read at the same time: batch_size positions per rank, in order of ranks.
The team draws as one job, by its *lead*, a reader that plans and never asks; ranks are told their
parts. Steps are equal: the last is shared out evenly, and filled up with fewer rows than there are
ranks, from an early step, unless `drop_last` leaves it out. A pass begins when all ranks have begun
it, and they must agree on where.

A daemon may die when one rank has read a step and another has not; the first may then wait for the
second (in an all-reduce), not for a daemon. So every rank has to know a step before any rank gets
its part: steps are announced ahead, ranks acknowledge them, and report them to a new daemon. A rank
gets at once what it reports; new steps come when all ranks have joined that daemon, and follow the
last step that any of them reports.

Invariant: a rank's steps come in order; a step that one rank has got, all ranks know.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from joader.engine.courses import Courses
from joader.engine.plan import Drawn
from joader.engine.reader import Reader
from joader.errors import BadArgument
from joader.messages import Begin, PlannedStep
from joader.messages.ranks import Piece
from joader.sampling.job_rows import Array, occurrence

# How many steps are announced beyond the one that was taken last. Ranks in step hear of each long
# before they want it; a rank that falls behind by this many holds the others up.
AHEAD = 4


@dataclass(frozen=True)
class Step:
    """The positions of all ranks, how many of them fill it up, and how often each came before."""

    positions: Array
    repeated: int
    times: Array
    packed: Piece | None = None  # its form in messages, if other nodes have ranks
    life: int = 0  # of another daemon that has drawn it

    @classmethod
    def of(
        cls, positions: Array, repeated: int, life: int = 0, packed: Piece | None = None
    ) -> "Step":
        """Make a step whose last `repeated` positions came before in this pass."""
        times = np.zeros(positions.size, np.int64)
        filled = positions.size - repeated
        times[filled:] = 1 + occurrence(positions[filled:])
        return cls(positions, repeated, times, packed, life)

    @property
    def piece(self) -> Piece:
        """Its form in messages to other nodes; a reported step is in the order of its ranks."""
        return self.packed or Piece(rows=self.positions, repeated=self.repeated, life=self.life)


@dataclass
class Part:
    """Where a rank is in a pass."""

    taken: int  # how many steps
    reported: int  # what it knew when it joined
    known: int  # how many it has acknowledged
    told: int  # how many were announced to it
    steps: dict[int, Step]  # those it has not taken


@dataclass(eq=False)
class Team:
    """The ranks that are here, and the steps they have not all taken."""

    name: str
    world_size: int
    batch_size: int
    drop_last: bool
    lead: Reader
    ranks: dict[int, Reader] = field(default_factory=dict)
    version: int = 0  # by which steps that are planned now are assigned to ranks; 0: in order
    _begun: dict[int, Begin] = field(default_factory=dict)  # by rank, until all have
    _reports: dict[int, Begin] = field(default_factory=dict)  # of ranks that go on, until all do
    _parts: dict[int, Part] = field(default_factory=dict)  # of ranks that are in a pass
    _left: dict[int, int] = field(default_factory=dict)  # how many steps ranks had that are gone
    _together: bool = False  # all have begun this pass
    _planned: int = 0  # how many steps there are of it
    _furthest: int = 0  # how many the first rank has taken
    _filling: Array = field(default_factory=lambda: np.empty(0, np.int64))
    _least: int | None = None  # how many steps all know; None: not counted yet
    _courses: Courses | None = None  # of a team whose ranks are on several nodes

    @property
    def step_size(self) -> int:
        """How many positions all ranks read in a step."""
        return self.world_size * self.batch_size

    def join(self, rank: int, reader: Reader) -> None:
        """Add a rank; raise BadArgument if it differs from those before it."""
        if rank in self.ranks:
            raise BadArgument(
                f"rank {rank} of job {self.name!r} has joined already, as {self.ranks[rank].job};"
                " give jobs that run side by side different names (job=)"
            )
        same = (reader.recipe, reader.batch_size, reader.rows.rows.size)
        if same != (self.lead.recipe, self.batch_size, self.lead.rows.rows.size):
            raise BadArgument(
                f"rank {rank} of job {self.name!r} reads other data, or other batches, than the "
                "ranks before it; all ranks of a job read the same dataset"
            )
        self.ranks[rank] = reader

    def leave(self, rank: int) -> None:
        """Remove a rank; the others get the steps that it had got, and no more."""
        del self.ranks[rank]
        self._begun.pop(rank, None)
        part, self._least = self._parts.pop(rank, None), None
        if part is not None and self._together:
            self._left[rank] = part.taken

    def begin(self, rank: int, event: Begin) -> Begin | None:
        """Note that a rank has begun a pass; once all have, return where the team does.

        A rank that goes on in a new daemon gets at once what it knows.
        """
        self._check(rank, event)
        begun = {other: one for other, one in self._begun.items() if other != rank}
        reports = dict(self._reports)
        goes_on = event.taken > 0 or len(event.plan) > 0
        (reports if goes_on else begun)[rank] = event
        # A rank that has come to its end may have begun the next; its report still counts.
        here = {other: one for other, one in reports.items() if one.epoch == event.epoch}
        here |= {other: one for other, one in begun.items() if one.epoch == event.epoch}
        together = self._met(rank, here) if len(here) == self.world_size else None
        self._begun, self._reports, self._least = begun, reports, None
        self._parts.pop(rank, None)
        if goes_on:
            end, steps = event.taken + len(event.plan), dict(enumerate(event.plan, event.taken))
            known = {number: Step.of(*step) for number, step in steps.items()}
            self._parts[rank] = Part(event.taken, end, end, end, known)
            self._together = False
        if together is not None:
            self._start(here)
        return together

    def _check(self, rank: int, event: Begin) -> None:
        """Raise BadArgument if a rank cannot begin like this."""
        length, size = self.lead.rows.rows.size, self.step_size
        for positions in (event.done, *(positions for positions, *_ in event.plan)):
            if positions.size and not 0 <= int(positions.min()) <= int(positions.max()) < length:
                raise BadArgument(f"rank {rank} names positions beyond its {length}")
        for positions, repeated, _ in event.plan:
            whole = 0 < positions.size <= size and positions.size % self.world_size == 0
            if event.taken < 0 or not whole or not 0 <= repeated < positions.size:
                raise BadArgument(f"rank {rank} reports a step of {positions.size} positions")
        others = [other for other in self._parts if other != rank]
        if event.taken or event.plan:
            if self._together and others:
                raise BadArgument(without(self.name, rank))
            return
        for other, begun in self._begun.items():
            if other != rank:
                self._compare(event, other, begun, np.array_equal(begun.done, event.done))
                break  # those before are equal

    def _compare(self, event: Begin, other: int, begun: Begin, same: bool) -> None:
        if begun.epoch != event.epoch or not same:
            raise BadArgument(
                f"a rank of job {self.name!r} begins epoch {event.epoch} after {event.done.size} "
                f"rows, rank {other} epoch {begun.epoch} after {begun.done.size}; load the same "
                "state on all ranks"
            )

    def _met(self, rank: int, here: dict[int, Begin]) -> Begin:
        """Return where the pass goes on: after all that any rank knows."""
        event, steps = here[rank], _reported(here)
        end = max(one.taken + len(one.plan) for one in here.values())
        whole = _union(event, steps)
        for other, begun in here.items():
            no_hole = sum(number >= begun.taken for number in steps) == end - begun.taken
            same = no_hole and np.array_equal(whole, _union(begun, steps))
            self._compare(event, other, begun, same)
        return Begin(event.job, event.epoch, whole, here[0].key, life=here[0].life)

    def _start(self, here: dict[int, Begin]) -> None:
        """Begin the pass: give ranks the steps that others have reported and they have not."""
        steps = {number: Step.of(*step) for number, step in _reported(here).items()}
        for rank, event in here.items():
            if self._begun.get(rank) is event:
                self._parts[rank] = Part(0, 0, 0, 0, {})
        self._planned = max(event.taken + len(event.plan) for event in here.values())
        # Steps a rank was told count as read: handed out again, those rows would come twice.
        for part in self._parts.values():
            part.steps |= {number: step for number, step in steps.items() if number >= part.told}
        epoch = here[0].epoch
        self._begun = {rank: one for rank, one in self._begun.items() if one.epoch != epoch}
        self._reports.clear()
        self._left.clear()
        self._together = True
        self._furthest = max((part.taken for part in self._parts.values()), default=0)
        self._filling = np.empty(0, np.int64)
        if steps:
            first = steps[min(steps)]
            self._filling = first.positions[: first.positions.size - first.repeated]

    def waits_for(self, rank: int) -> str:
        """Say which ranks a rank waits for; empty if it waits for none."""
        absent = [number for number in range(self.world_size) if number not in self.ranks]
        begun = {*self._begun, *self._reports}
        late = [number for number in sorted(self.ranks) if number not in begun]
        words = [f"{_named(absent)} not here, or gone"] if absent else []
        words += [f"{_named(late)} yet to begin the pass"] if late else []
        part = self._parts.get(rank)
        if part is not None and self._together:
            behind = [r for r, other in self._parts.items() if other.known <= part.taken]
            words = [f"{_named(sorted(behind))} behind"] if behind else []
        if not words:
            return ""
        return f"of {self.world_size} ranks of job {self.name!r} {' and '.join(words)}"

    def all_here(self) -> bool:
        """Tell whether all ranks have joined and none has left."""
        return len(self.ranks) == self.world_size

    def in_pass(self, rank: int) -> bool:
        """Tell whether a rank takes part in a pass."""
        return rank in self._parts

    def know(self, rank: int, count: int) -> None:
        """Note that a rank knows the first `count` steps."""
        part = self._parts.get(rank)
        if part is not None and part.known < count <= part.told:
            part.known, self._least = count, None

    def lacks(self, rank: int) -> int | None:
        """Return the rank that has gone without the step that this one wants now, if any."""
        taken = self._parts[rank].taken
        return next((gone for gone, count in self._left.items() if count <= taken), None)

    def take(self, rank: int, now: float) -> tuple[int, Step, slice] | None:
        """Return number and step that a rank reads next, and its part of it; None if not yet."""
        part = self._parts[rank]
        number = part.taken
        if number >= part.reported and not self._all_know(number):
            return None
        step = part.steps.pop(number)
        part.taken += 1
        if self._together and part.taken > self._furthest:
            self._furthest = part.taken
            self.lead.note_rate(step.positions.size, now)
        share = step.positions.size // self.world_size
        return number, step, slice(rank * share, (rank + 1) * share)

    def _all_know(self, number: int) -> bool:
        if self._least is None:  # counted once for all ranks that want a step
            self._least = min((part.known for part in self._parts.values()), default=0)
        return self._together and self._least > number

    def announce(self) -> Iterable[tuple[Reader, int, list[Step]]]:
        """Plan ahead; return for each rank the first step's number, and the steps to announce."""
        if not self._together or not self._parts:
            return
        most = self._planned if self._left else self._furthest + AHEAD
        while self._planned < most and (step := self._next_step()) is not None:
            for part in self._parts.values():
                part.steps[self._planned] = step
            self._planned += 1
        for rank, part in self._parts.items():
            if part.told < self._planned:
                first, part.told = part.told, self._planned
                yield self.ranks[rank], first, [part.steps[n] for n in range(first, self._planned)]

    def _next_step(self) -> Step | None:
        """Take a step off the lead's plan; the last one may be shorter."""
        lead, size = self.lead, self.step_size
        planned = lead.window.places[:size]
        if len(planned) < size and (lead.plan.undrawn or not planned or self.drop_last):
            return None
        del lead.window.places[:size], lead.window.homes[:size]
        positions = np.array(planned, np.int64)
        if not self._filling.size:
            self._filling = positions
        missing = -positions.size % self.world_size
        positions = np.concatenate([positions, np.resize(self._filling, missing)])
        return Step.of(positions, missing, packed=self._packed(positions, missing))

    def _packed(self, positions: Array, missing: int) -> Piece | None:
        """Return a step in its form for other nodes, if this team has ranks there."""
        if not self.lead.terms.remote:
            return None
        if self._courses is None:
            self._courses = Courses(self.lead.rows)
        assert isinstance(self.lead.plan, Drawn)
        # A step that is filled up keeps its order: the repeated positions must stay at its end.
        version = 0 if missing else self.version
        return self._courses.pack(positions, missing, version, self.lead.plan)


def _reported(here: dict[int, Begin]) -> dict[int, PlannedStep]:
    """Return the steps that ranks have reported, by number."""
    steps: dict[int, PlannedStep] = {}
    for event in here.values():
        steps |= dict(enumerate(event.plan, event.taken))
    return steps


def _union(event: Begin, steps: dict[int, PlannedStep]) -> Array:
    """Return all that a rank has read, with all steps after it; ascending."""
    after = [positions for number, (positions, *_) in steps.items() if number >= event.taken]
    return np.unique(np.concatenate([event.done, *after]))


def _named(ranks: list[int]) -> str:
    return f"rank {ranks[0]} is" if len(ranks) == 1 else f"ranks {', '.join(map(str, ranks))} are"


def without(name: str, rank: int) -> str:
    """Say why ranks cannot go on."""
    return (
        f"rank {rank} of job {name!r} has left in the middle of the pass, and the others cannot go "
        "on without it; start the job again from its last state_dict()"
    )
