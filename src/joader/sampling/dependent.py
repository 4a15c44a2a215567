"""Dependent sampling: every order is uniformly random, and orders are coupled to share work.

Promise: given everything drawn before, by any job, each draw of a job is uniform over the rows it
has not read in its pass. The orders of different jobs are *not* independent of each other: that is
the point.

Jobs are kept in groups (`group.py`). A job enters a group when it first draws, so that joining
costs one check of its rows; until then it is *waiting* and only its rows are kept. Jobs without a
row in common are in different groups.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from joader.errors import BadArgument
from joader.sampling.bits import Bits
from joader.sampling.group import Group
from joader.sampling.rows import OpenSet, RowSet
from joader.sampling.sampler import (
    Counts,
    Draws,
    Job,
    check_counts,
    check_epoch,
    check_known,
    check_new,
    checked_seed,
)

RULES = ("shared", "paper", "common")

# How many rows of a group are probed to see whether a new job overlaps with it. Groups may have
# rows in common, so missing a small overlap only costs the sharing.
PROBE_ROWS = 1 << 16
# Entering a group costs time in proportion to its rows, and two sets of sizes a < b share at most
# a / b of the larger one's draws. So a set is kept apart from one that is this many times its size,
# if the larger one has more than APART_ROWS rows (1 ms).
APART_TIMES = 64
APART_ROWS = 100_000


@dataclass
class _Member:
    """A job: waiting with its rows, or number `number` of a group."""

    rows: RowSet | None
    group: Group | None = None
    number: int = -1


class DependentSampler:
    """Draw jointly for jobs on overlapping rows.

    `rule`: "shared" (default) shares as much as the overlaps allow; "paper" is JOADER's algorithm
    to the letter; "common" is one random order per round, from which each job takes the first row
    it needs. The latter two are for comparison: all jobs are in one group, and a round costs time
    in proportion to its cells, which double with every job that is out of step with all others.
    """

    # Cells double with every job that is out of step with all others. 256 is eight such jobs; a
    # ninth starts a group of its own. Jobs in step, or on equal rows, add no cells and are never
    # separated.
    most_cells = 256

    def __init__(self, seed: int = 0, rule: str = "shared") -> None:
        """Start without jobs."""
        if rule not in RULES:
            raise BadArgument(f"rule={rule!r} is unknown; use one of {', '.join(RULES)}")
        self._rule = rule
        self._bits = Bits("dependent", checked_seed(seed))
        self._jobs: dict[Job, _Member] = {}
        self._groups: list[Group] = []

    def add(self, job: Job, rows: ArrayLike | RowSet, epoch: int = 0) -> None:
        """Begin a pass of this job over these rows; the epoch has no effect here."""
        check_epoch(epoch)
        check_new(self, self._jobs, job)
        checked = rows if isinstance(rows, RowSet) else RowSet(rows)
        if job in self._jobs:
            self.remove(job)
        # Jobs that wait with equal rows share one copy of them.
        waiting = (member.rows for member in self._jobs.values() if member.rows is not None)
        self._jobs[job] = _Member(next((same for same in waiting if same == checked), checked))

    def draw(self, counts: Counts) -> Draws:
        """Draw in as many rounds as the largest count; smaller counts are spread evenly."""
        check_counts(self, self._jobs, counts)
        wanted = {job: int(count) for job, count in counts.items() if count}
        rounds = max(wanted.values(), default=0)
        # In the order the jobs joined, not that of `counts`: equal calls give equal draws.
        for job, member in self._jobs.items():
            if job in wanted and member.group is None:
                self._enter(member)
        drawn: Draws = {job: np.empty(0, np.int64) for job in counts}
        for group in list(self._groups):
            inside = {
                self._jobs[job].number: job for job in wanted if self._jobs[job].group is group
            }
            if inside:
                numbers = [(number, wanted[inside[number]]) for number in sorted(inside)]
                for number, rows in group.draw(numbers, rounds, self._bits).items():
                    drawn[inside[number]] = rows
                self._keep_small(group)
        return drawn

    def remaining(self, job: Job) -> int:
        """Return how many rows the job has not drawn in its pass."""
        check_known(self._jobs, job)
        member = self._jobs[job]
        if member.group is not None:
            return member.group.left[member.number]
        assert member.rows is not None
        return member.rows.size

    def unread(self, job: Job) -> NDArray[np.int64]:
        """Return the rows the job has not drawn in its pass, ascending."""
        check_known(self._jobs, job)
        member = self._jobs[job]
        if member.group is not None:
            return member.group.cells.unread(1 << member.number).astype(np.int64)
        assert member.rows is not None
        return member.rows.rows().astype(np.int64)

    def remove(self, job: Job) -> None:
        """Forget the job."""
        check_known(self._jobs, job)
        member = self._jobs.pop(job)
        if member.group is not None:
            member.group.leave(member.number)
            if not any(member.group.members):
                self._groups.remove(member.group)

    def _enter(self, member: _Member) -> None:
        """Put a waiting job into the group it shares most with that has room, or into a new one."""
        assert member.rows is not None
        rows = OpenSet(member.rows)
        group = self._home(rows) if self._rule == "shared" else self._only_group()
        member.number = group.join(rows)
        member.group, member.rows = group, None

    def _only_group(self) -> Group:
        # The paper's rule has no groups: a job on other rows changes how the others are drawn.
        if not self._groups:
            self._groups.append(Group(self._rule))
        return self._groups[0]

    def _home(self, rows: OpenSet) -> Group:
        overlaps = [(_overlap(group, rows), group) for group in self._groups]
        overlaps.sort(key=lambda overlap: -overlap[0])
        # A job at most doubles the cells and adds one.
        touching = [
            group for size, group in overlaps if size and 2 * len(group.cells) < self.most_cells
        ]
        if not touching:
            self._groups.append(Group(self._rule))
            return self._groups[-1]
        home, *others = touching
        for other in others:  # a job that touches two groups links them if the limit allows it
            cells = len(home.cells) + len(other.cells)
            if 2 * cells < self.most_cells and home.cells.apart_from(other.cells):
                self._absorb(home, other)
        return home

    def _absorb(self, home: Group, other: Group) -> None:
        numbers = home.absorb(other)
        self._groups.remove(other)
        for member in self._jobs.values():
            if member.group is other:
                member.group, member.number = home, numbers[member.number]

    def _keep_small(self, group: Group) -> None:
        """Split a group whose jobs have fallen so far out of step that it has too many cells."""
        if len(group.cells) <= self.most_cells:
            return
        group.cells.sweep()
        if len(group.cells) <= self.most_cells or self._rule != "shared":
            return
        other = group.split()
        self._groups.append(other)
        for member in self._jobs.values():
            if member.group is group and other.members[member.number]:
                member.group = other
        self._keep_small(group)
        self._keep_small(other)


def _overlap(group: Group, rows: OpenSet) -> int:
    """Estimate how many rows of the group are in the set; 0 also if sharing would save little."""
    total = sum(len(cell) for cell in group.cells)
    small, large = sorted((total, rows.size))
    if large > APART_ROWS and small * APART_TIMES < large:
        return 0
    step = -(-total // PROBE_ROWS)
    probes = [cell.view()[::step] for cell in group.cells if cell.rows]
    return step * int(np.count_nonzero(rows.contains(np.concatenate(probes)))) if probes else 0
