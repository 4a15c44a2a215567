"""Ranks of one job: one plan for all, and every rank gets its part of each step.

A *step* is what all ranks read at the same time: batch_size positions a rank, in order of ranks.
The team draws as one job, by its *lead*, a reader that plans and never asks; ranks are told their
parts. Steps are equal: the last is shared out evenly, and filled up with fewer rows than there are
ranks, from the team's first step, unless `drop_last` leaves it out. A pass begins when all ranks
have begun it, and they must agree on where.

Invariant: a rank's steps come in order; a step is kept until every rank has taken its part.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from joader.engine.reader import Reader
from joader.engine.recipe_rows import Array
from joader.engine.values import Begin, Job, Join
from joader.errors import BadArgument

FIRST_LEAD = -2


@dataclass(frozen=True)
class Step:
    """The positions of all ranks, and how many of them fill it up."""

    positions: Array
    repeated: int


@dataclass(eq=False)
class Team:
    """The ranks that are here, and the steps they have not all taken."""

    name: str
    world_size: int
    batch_size: int
    drop_last: bool
    lead: Reader
    ranks: dict[int, Reader] = field(default_factory=dict)
    _begun: dict[int, Begin] = field(default_factory=dict)  # by rank, until all have
    _taken: dict[int, int] = field(default_factory=dict)  # steps, by rank
    _steps: list[Step] = field(default_factory=list)
    _first: int = 0  # the number of the first step that is kept
    _filling: Array = field(default_factory=lambda: np.empty(0, np.int64))

    @property
    def step_size(self) -> int:
        """How many positions all ranks read in a step."""
        return self.world_size * self.batch_size

    def join(self, rank: int, reader: Reader) -> None:
        """Let a rank in."""
        if rank in self.ranks:
            raise BadArgument(
                f"rank {rank} of job {self.name!r} is here already (as job {self.ranks[rank].job});"
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
        """Let a rank go; what it has not taken nobody will."""
        del self.ranks[rank]
        self._begun.pop(rank, None)
        self._taken.pop(rank, None)

    def begin(self, rank: int, event: Begin) -> Begin | None:
        """Note that a rank has begun a pass; once all have, return where the team does."""
        self._begun.pop(rank, None)
        for other, begun in self._begun.items():
            if begun.epoch != event.epoch or not np.array_equal(begun.done, event.done):
                raise BadArgument(
                    f"rank {rank} of job {self.name!r} begins epoch {event.epoch} after "
                    f"{event.done.size} rows, rank {other} epoch {begun.epoch} after "
                    f"{begun.done.size}; load the same state on all ranks"
                )
        self._taken.pop(rank, None)
        self._begun[rank] = event
        if len(self._begun) < self.world_size:
            return None
        self._taken = dict.fromkeys(self._begun, 0)
        self._begun.clear()
        self._steps.clear()
        self._first = 0
        self._filling = np.empty(0, np.int64)
        return event

    def waits_for(self, rank: int) -> str:
        """Say which ranks a rank waits for to begin its pass; empty where it does not."""
        absent = [number for number in range(self.world_size) if number not in self.ranks]
        late = [number for number in sorted(self.ranks) if number not in self._begun]
        if self.in_pass(rank) or not (absent or late):
            return ""
        words = [f"{_named(absent)} not here, or gone"] if absent else []
        words += [f"{_named(late)} yet to begin the pass"] if late else []
        return f"of {self.world_size} ranks of job {self.name!r} {' and '.join(words)}"

    def all_here(self) -> bool:
        """Tell whether all ranks have joined and none has left."""
        return len(self.ranks) == self.world_size

    def in_pass(self, rank: int) -> bool:
        """Tell whether a rank takes part in the team's pass."""
        return rank in self._taken

    def take(self, rank: int, now: float) -> tuple[Step, Array] | None:
        """Return a rank's next step and its own positions of it; None while it is not planned."""
        number = self._taken[rank]
        if number == self._first + len(self._steps):
            step = self._next_step()
            if step is None:
                return None
            self._steps.append(step)
            self.lead.note_rate(step.positions.size, now)
        step = self._steps[number - self._first]
        self._taken[rank] = number + 1
        while min(self._taken.values()) > self._first:
            self._steps.pop(0)
            self._first += 1
        part = step.positions.size // self.world_size
        return step, step.positions[rank * part : (rank + 1) * part]

    def _next_step(self) -> Step | None:
        """Take a step off the lead's plan; the last one may be shorter."""
        lead, size = self.lead, self.step_size
        planned = lead.positions[:size]
        if len(planned) < size and (lead.undrawn or not planned or self.drop_last):
            return None
        del lead.positions[:size], lead.homes[:size]
        positions = np.array(planned, np.int64)
        if not self._filling.size:
            self._filling = positions
        missing = -positions.size % self.world_size
        return Step(np.concatenate([positions, np.resize(self._filling, missing)]), missing)


def _named(ranks: list[int]) -> str:
    return f"rank {ranks[0]} is" if len(ranks) == 1 else f"ranks {', '.join(map(str, ranks))} are"


class Teams:
    """All teams, by name and by the ranks that are in them."""

    def __init__(self) -> None:
        """Start without any."""
        self._teams: dict[str, Team] = {}
        self._place: dict[Job, tuple[Team, int]] = {}
        self._made = 0

    @property
    def leads(self) -> list[Reader]:
        """The leads of all teams."""
        return [team.lead for team in self._teams.values()]

    def find(self, job: Job) -> tuple[Team, int] | None:
        """Return the team of a job, and its rank."""
        return self._place.get(job)

    def lead_of(self, job: Job) -> Job:
        """Return the lead of a job's team."""
        return self._place[job][0].lead.job

    def join(self, event: Join, reader: Reader, make_lead: Callable[[Job], Reader]) -> None:
        """Let a rank into the team it names; the first makes the team."""
        if not 0 <= event.rank < event.world_size:
            raise BadArgument(f"rank {event.rank} of {event.world_size}; ranks count from 0")
        team = self._teams.get(event.team)
        if team is None:
            # Leads have numbers that no job has.
            lead = make_lead(FIRST_LEAD - self._made)
            team = Team(event.team, event.world_size, event.batch_size, event.drop_last, lead)
        if event.world_size != team.world_size or event.drop_last != team.drop_last:
            raise BadArgument(
                f"rank {event.rank} of job {event.team!r} says it is one of {event.world_size}, "
                f"the ranks before it of {team.world_size}, or they differ in drop_last"
            )
        team.join(event.rank, reader)
        if event.team not in self._teams:
            self._made += 1
            self._teams[event.team] = team
        self._place[event.job] = (team, event.rank)

    def leave(self, job: Job) -> Reader | None:
        """Let a rank go; return the lead of a team that nobody is in any more."""
        team, rank = self._place.pop(job)
        team.leave(rank)
        if team.ranks:
            return None
        del self._teams[team.name]
        return team.lead

    def hand_out(self) -> None:
        """Tell ranks their parts of the steps they want, as far as these are planned."""
        for team in self._teams.values():
            for rank, reader in team.ranks.items():
                while reader.pending and team.in_pass(rank):
                    taken = team.take(rank, reader.pending[0])
                    if taken is None:
                        break
                    step, positions = taken
                    reader.tell(positions)
                    reader.note_want(positions.size, reader.pending.popleft())
                    reader.steps.append((step.positions, step.repeated))
