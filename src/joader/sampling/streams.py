"""Streams: shared orders that, for each job, have exactly the law of shuffling alone.

Promise: given the job's own past, and all that any job did before the generation it follows opened,
each draw of a job is uniform over the rows it has not read in its pass. So its passes are
independent uniform permutations: the order of one job does not show that it shares. The orders of
different jobs depend on each other, more than under dependent sampling, which makes the same
promise given *everybody's* past. docs/order.md has the theorem, its condition and the proof.

The condition is on the caller: how many rows each job draws when, and when jobs come and go, must
not depend on which rows were drawn. Time is counted in draws; there is no other clock.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import ArrayLike, NDArray

from joader.errors import BadArgument
from joader.sampling.generation import Clock, Key
from joader.sampling.rows import OpenSet, RowSet
from joader.sampling.sampler import (
    Counts,
    Draws,
    Job,
    Speed,
    check_counts,
    check_epoch,
    check_known,
    check_new,
    checked_seed,
)
from joader.sampling.stream_group import Start, StreamGroup

# A group is joined if this part of the smaller side is common to both.
COMMON = 0.05
# Sets of very different size share little, and a small one would set the pace for all.
APART_TIMES = 64
# Groups without jobs that are kept: their jobs are probably between two passes.
MOST_EMPTY = 4


@dataclass
class _Member:
    """A job: waiting with its rows, or in a group."""

    number: int  # in the order of joining
    rows: RowSet
    start: Start
    seed: int | None
    group: StreamGroup | None = None


class StreamSampler:
    """Draw for jobs on overlapping rows from streams that they follow together.

    `nonce` makes the orders of one life of a daemon different from those of another with the same
    seed: with the seed alone a restarted daemon would give a job an order that it has had.
    `reach` is how many rows memory holds: a job that lags farther behind the others than that
    jumps. None stands for a twentieth of the rows. It may be set at any time, from what memory can
    hold, not from what is in it now; it takes effect with the next generation, but for the first
    number after None.
    """

    def __init__(
        self, seed: int = 0, nonce: int = 0, reach: int | None = None, opened: int = 0
    ) -> None:
        """Start without jobs; a sampler of this seed and nonce has `opened` generations before."""
        self._opened = opened
        self._seed, self._nonce = checked_seed(seed), checked_seed(nonce)
        self._reach: int | None = None
        self._groups: list[StreamGroup] = []
        self.reach = reach
        self._jobs: dict[Job, _Member] = {}
        self._joined = self._formed = 0
        self._elsewhere: list[Clock] = []
        self._past = opened

    @property
    def reach(self) -> int | None:
        """How many rows memory holds."""
        return self._reach

    @reach.setter
    def reach(self, rows: int | None) -> None:
        if rows is not None and (isinstance(rows, bool) or not rows >= 0):
            raise BadArgument(f"reach is {rows!r}; give a number of rows >= 0, or None")
        known, self._reach = self._reach is not None, None if rows is None else int(rows)
        if not known and rows is not None:
            # A generation that opened before the size of samples was known: nobody has jumped yet.
            for group in self._groups:
                group.set_reach(int(rows))

    def add(
        self,
        job: Job,
        rows: ArrayLike,
        epoch: int = 0,
        *,
        rest: bool = False,
        followed: bool = False,
        behind: int = 0,
        seed: int | None = None,
        after: int = 0,
    ) -> None:
        """Begin a pass of this job over these rows; the epoch has no effect here.

        `rest`: the rows are what is left of a pass, so that others should set the pace.
        `followed`: the job may have drawn here before under another name, as a resumed job does.
        What it then read is not known here, so it draws blind until a new generation opens.
        `behind`: how many rows behind the head to begin; the head is ahead of what others read now.
        `seed`: of the generations that open while all jobs of its group give this one.
        `after`: the pass begins in a later generation than this, because the job may have followed
        all up to it without this sampler's knowledge: on another node, or before a restart.
        """
        check_epoch(epoch)
        seed = None if seed is None else checked_seed(seed)
        check_new(self, self._jobs, job)
        checked = self._same(RowSet(rows))
        if job in self._jobs:
            self.remove(job)
        if followed:
            # In all groups: it may enter another now (a short rest does) and that one later.
            for group in self._groups:
                group.take_as_known(job)
        self._joined += 1
        self._jobs[job] = _Member(self._joined, checked, Start(rest, behind, after), seed)

    def draw(self, counts: Counts) -> Draws:
        """Draw for each job from the stream it follows."""
        check_counts(self, self._jobs, counts)
        wanted = [(job, int(count)) for job, count in counts.items() if count]
        if len(wanted) > 1:
            # In the order the jobs joined, not that of `counts`: equal calls give equal draws.
            wanted.sort(key=lambda want: self._jobs[want[0]].number)
        by_group: dict[StreamGroup, list[tuple[Job, int]]] = {}
        for want in wanted:
            member = self._jobs[want[0]]
            by_group.setdefault(member.group or self._enter(want[0], member), []).append(want)
        found: Draws = {}
        for group, wants in by_group.items():
            found.update(group.draw(wants))
        return {job: found[job] if job in found else np.empty(0, np.int64) for job in counts}

    def remaining(self, job: Job) -> int:
        """Return how many rows the job has not drawn in its pass."""
        check_known(self._jobs, job)
        member = self._jobs[job]
        return member.rows.size if member.group is None else member.group.left(job)

    def unread(self, job: Job) -> NDArray[np.int64]:
        """Return the rows the job has not drawn in its pass, ascending."""
        check_known(self._jobs, job)
        member = self._jobs[job]
        if member.group is None:
            return member.rows.rows().astype(np.int64)
        return np.sort(member.group.unread(job))

    def remove(self, job: Job) -> None:
        """Forget the rows the job has not drawn; what it read counts if it comes back."""
        check_known(self._jobs, job)
        member = self._jobs.pop(job)
        if member.group is not None:
            member.group.leave(job)
            empty = [group for group in self._groups if not group.jobs]
            if len(empty) > MOST_EMPTY:
                self._groups.remove(empty[0])

    def ahead(self, job: Job, count: int) -> NDArray[np.int64]:
        """Return the job's next rows, at most `count`, as far as they are known; draw nothing.

        They come true unless the job is made to jump, and in a tail unless it turns.
        """
        check_known(self._jobs, job)
        if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 0:
            raise BadArgument(f"count is {count!r}; it must be an integer >= 0")
        member = self._jobs[job]
        if not member.rows.size:
            return np.empty(0, np.int64)
        return (member.group or self._enter(job, member)).ahead(job, int(count))

    def course(self, job: Job) -> tuple[Key, NDArray[np.int64]] | None:
        """Return the generation that a job follows, by its key and in its order.

        None where it follows none, or one with more rows than it reads.
        """
        member = self._jobs.get(job)
        group = member.group if member is not None else None
        follower = group.members.get(job) if group is not None else None
        if group is None or follower is None or follower.generation.size != follower.rows.size:
            return None
        return follower.generation.key, group.index.rows(follower.generation.order)

    def next_use(self, rows: ArrayLike) -> NDArray[np.float64]:
        """Return for each row how many draws of the fastest job away its next use is.

        Infinite if nobody will need it; not a number where sets are drawn jointly. Rows ahead of a
        pointer have their distance, those of a tail their place in it; a row that a job has read
        counts half a pass after its pass ends.
        """
        asked = np.asarray(rows)
        soonest = np.full(asked.size, np.inf)
        for group in self._groups:
            group.next_use(asked, None, soonest)
        return soonest

    def seconds_until(
        self, rows: NDArray[np.int64], speeds: Mapping[Job, Speed]
    ) -> NDArray[np.float64]:
        """Return when the first of these jobs will read each row."""
        soonest = np.full(rows.size, np.inf)
        # Not of jobs that have not drawn: they enter a group when they do. They must not because
        # memory asks: what memory holds depends on rows.
        for group in self._groups:
            group.next_use(rows, speeds, soonest)
        return soonest

    def seconds_until_one(self, row: int, speeds: Mapping[Job, Speed]) -> float:
        """Return the same for one row."""
        return min((group.next_use_one(row, speeds) for group in self._groups), default=inf)

    @property
    def latest(self) -> int:
        """The number of the latest generation that was opened here, or ever heard of."""
        return max(self._past, *(group.latest for group in self._groups), 0)

    @property
    def driven(self) -> bool:
        """Whether somebody reads a generation now, here or elsewhere."""
        return bool(self._elsewhere) or any(group.driven for group in self._groups)

    def clocks(self) -> list[Clock]:
        """Return how far jobs of this process have read, for other nodes with the same seed."""
        return [clock for group in self._groups if (clock := group.clock()) is not None]

    def hear(self, clocks: Sequence[Clock], past: int = 0) -> None:
        """Take in how far jobs on other nodes are, all of them: what was heard before is over.

        `past`: the latest generation that was ever opened on any node, even if no job reads it now.
        Samplers of one seed and nonce have the same orders. Those whose jobs come in the same
        generations, at about the same place, read the same rows at about the same time.
        """
        self._elsewhere = list(clocks)
        self._past = max(self._past, past, *(clock.generation for clock in clocks))
        for group in self._groups:
            group.hear([clock for clock in clocks if clock.group == group.number], past)

    def _same(self, rows: RowSet) -> RowSet:
        """Return the equal set that is kept already, if there is one."""
        kept = [*(member.rows for member in self._jobs.values())]
        kept += [known for group in self._groups for known in group.sets()]
        return next((other for other in kept if other == rows), rows)

    def _enter(self, job: Job, member: _Member) -> StreamGroup:
        """Put a waiting job into the group it has most in common with, or into a new one."""
        best, most = None, 0
        rows: OpenSet | None = None
        for group in self._groups:
            if any(known is member.rows for known in group.sets()):
                best = group
                break
            if not group.fits(member.rows):
                continue
            rows = rows or OpenSet(member.rows)
            common, smaller, larger = group.overlap(rows)
            if common > max(most, COMMON * smaller) and larger <= APART_TIMES * smaller:
                best, most = group, common
        if best is None:
            best = StreamGroup(member.rows, self._seed, self._nonce, self._formed, self._opened)
            heard = [clock for clock in self._elsewhere if clock.group == self._formed]
            best.hear(heard, self._past)
            self._formed += 1
            self._groups.append(best)
        best.join(job, member.rows, self._reach, member.start, member.seed)
        member.group = best
        return best
