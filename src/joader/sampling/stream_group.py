"""Jobs that share generations: where passes begin, when a new one opens, what a job knows.

All of this depends on calls only (who was added, drew how many, left), never on which rows were
drawn: that is what keeps every job's order exactly a reshuffle (docs/order.md).

A member is *in* its pass or between two. One that leaves is remembered until the next generation
opens: if it comes back before, the rows it has read of this one are known to it.
"""

from collections.abc import Mapping, Sequence
from math import inf, nan
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joader.sampling.bits import Bits
from joader.sampling.blind import FREE, KNOWN, UNREAD
from joader.sampling.dependent import DependentSampler
from joader.sampling.follower import Follower
from joader.sampling.forecast import ahead, next_use, next_use_one, places_of
from joader.sampling.generation import Clock, Generation
from joader.sampling.row_index import RowIndex
from joader.sampling.rows import NO_ROWS, OpenSet, Rows, RowSet
from joader.sampling.sampler import Draws, Job, Speed

# Rows of a group that are looked at to see how much it has in common with a newcomer.
PROBES = 4096
# Sets that are remembered in addition to those of members: their jobs may come back.
MOST_SETS = 16
# Sets whose sizes differ by more than this share more by joint draws.
UNEQUAL = 1.25


class Start(NamedTuple):
    """How a pass begins."""

    rest: bool = False  # of a broken pass: it leaves the clock to others
    behind: int = 0  # how many rows behind the head
    after: int = 0  # in a later generation than this


WHOLE = Start()


class StreamGroup:
    """Some jobs on overlapping rows, and the generations they follow."""

    def __init__(self, rows: RowSet, seed: int, nonce: int, number: int, opened: int = 0) -> None:
        """Start without members; these rows are the first member's.

        Generations are numbered on from `opened`.
        """
        self.index = RowIndex(rows)
        self.members: dict[Job, Follower] = {}
        self.newest: Generation | None = None
        self._seed, self._key = seed, (nonce, number)
        self._opened = self._forgotten = opened
        self._heard: Clock | None = None  # the farthest of other nodes
        self._past = opened  # the latest that was ever heard of
        self._bits = Bits("streams", seed, nonce, number)
        self._joint: DependentSampler | None = None
        self._sets: dict[Job, tuple[RowSet, Start]] = {}  # of the members
        self._seeds: dict[Job, int | None] = {}  # that they give
        self._samples: dict[int, tuple[RowSet, Rows]] = {}  # by id: sets, and some of their rows
        self._gone: dict[Job, Follower] = {}  # left since the newest generation opened
        self._united: list[RowSet] = []  # the sets whose union is `_present`
        self._present: Rows = NO_ROWS

    @property
    def number(self) -> int:
        """Which of its sampler's groups this is."""
        return self._key[1]

    @property
    def jobs(self) -> int:
        """How many jobs there are."""
        return len(self._sets)

    def sets(self) -> list[RowSet]:
        """Return the sets of rows the group knows."""
        return [rows for rows, _ in self._samples.values()]

    def fits(self, rows: RowSet) -> bool:
        """Return whether a job on these rows may join."""
        return self.index.fits(rows)

    def overlap(self, rows: OpenSet) -> tuple[int, int, int]:
        """Estimate the most rows in common with a job's set, and the smaller and larger size."""
        best = (0, 0, 0)
        for known, sample in self._samples.values():
            inside = int(np.count_nonzero(rows.contains(sample)))
            common = inside * known.size // max(sample.size, 1)
            best = max(best, (common, min(known.size, rows.size), max(known.size, rows.size)))
        return best

    def join(
        self,
        job: Job,
        rows: RowSet,
        reach: int | None,
        start: Start = WHOLE,
        seed: int | None = None,
    ) -> None:
        """Begin a pass."""
        self._remember(rows)
        self._sets[job], self._seeds[job] = (rows, start), seed
        if self._apart() != (self._joint is not None):
            self._change_mode(job, reach)
        elif self._joint is not None:
            self._joint.add(job, rows)
        else:
            self._begin(job, rows, reach, start)

    def leave(self, job: Job) -> None:
        """Remove a job, but remember what it has read."""
        del self._sets[job], self._seeds[job]
        if self._joint is not None:
            self._joint.remove(job)
        else:
            follower = self._gone[job] = self.members.pop(job)
            if follower.drives:
                follower.began.drivers.remove(follower)
            if follower.generation is not self.newest:
                follower.marks = None  # it knows nothing of the newest; only its rows are needed
        if not self._sets:
            if self.newest is None or not self.newest.driven_elsewhere:
                self._gone.clear()  # the next pass begins in a new generation
                self._forgotten = self._opened
            for known in [*self._samples][:-1]:
                del self._samples[known]

    def take_as_known(self, job: Job) -> None:
        """Count all rows as read by a job that may have followed the newest generation."""
        # Not only if jobs are here: those of other nodes keep it running, too.
        if self.newest is not None and self._remembers(self.newest):
            past = self._gone[job] = Follower(RowSet(NO_ROWS), self.newest, drives=False)
            past.use_marks(np.full(self.index.span, KNOWN))

    def draw(self, wants: Sequence[tuple[Job, int]]) -> Draws:
        """Draw for these jobs at once."""
        if self._joint is not None:
            return self._joint.draw(dict(wants))
        assert self.newest is not None
        # The draws of one must not count as lag of another: all happen at the same moment.
        followers = [(self.members[job], count) for job, count in wants]
        for follower, count in followers:
            follower.keep_up(count)
        drawn = {
            job: self.index.rows(self.members[job].take(count, self.newest, self._bits))
            for job, count in wants
        }
        for follower, _ in followers:
            follower.advance()
        return drawn

    def left(self, job: Job) -> int:
        """Return how many rows a job has not read."""
        return self.members[job].left if self._joint is None else self._joint.remaining(job)

    def unread(self, job: Job) -> NDArray[np.int64]:
        """Return the rows a job has not read."""
        if self._joint is not None:
            return self._joint.unread(job)
        follower = self.members[job]
        if follower.marks is not None:
            return self.index.rows(np.flatnonzero(follower.marks & UNREAD).astype(np.uint32))
        order = follower.generation.order
        missed = order[follower.around : follower.start]
        return self.index.rows(np.concatenate([missed, order[follower.pointer :]]))

    def ahead(self, job: Job, count: int) -> NDArray[np.int64]:
        """Return a job's next rows, as far as they are known."""
        if self._joint is not None:
            return np.empty(0, np.int64)
        assert self.newest is not None
        return self.index.rows(ahead(self.members[job], count, self.newest, self._bits))

    def next_use(
        self,
        rows: NDArray[np.integer],
        speeds: Mapping[Job, Speed] | None,
        soonest: NDArray[np.float64],
    ) -> None:
        """Lower `soonest` to when each row will be used by a member.

        In seconds, by those whose speed is given; or in draws of a member that keeps up.
        """
        inside = self.index.has(rows)
        if not inside.any():
            return
        here: NDArray[np.bool_] | slice = slice(None) if inside.all() else inside
        if self._joint is not None:
            soonest[here] = np.nan
            return
        numbers = self.index.find(rows[here].astype(np.uint32))
        places: dict[Generation, NDArray[np.float64]] = {}
        found = soonest[here]
        for job, follower in self.members.items():
            speed = Speed(follower.own_pace()) if speeds is None else speeds.get(job)
            if speed is None or not follower.rows.size:
                continue
            generation = follower.generation
            if generation not in places:
                places[generation] = places_of(generation, numbers)
            away = next_use(follower, numbers, places[generation], speed.once)
            away += speed.waits
            away /= speed.per_s
            np.minimum(found, away, out=found)
        soonest[here] = found

    def next_use_one(self, row: int, speeds: Mapping[Job, Speed]) -> float:
        """Return when one row will be used, in seconds."""
        number = self.index.find_one(row)
        if number is None:
            return inf
        if self._joint is not None:
            return nan
        soonest = inf
        for job, follower in self.members.items():
            speed = speeds.get(job)
            if speed is not None and follower.rows.size:
                away = next_use_one(follower, number, speed.once)
                soonest = min(soonest, (away + speed.waits) / speed.per_s)
        return soonest

    @property
    def latest(self) -> int:
        """The number of the latest generation that was opened here, or ever heard of."""
        return max(self._opened, self._past)

    @property
    def driven(self) -> bool:
        """Whether somebody reads its newest generation, here or elsewhere."""
        return self.newest is not None and self.newest.driven

    def clock(self) -> Clock | None:
        """Return how far the newest generation is read, if a job of this process reads it."""
        newest = self.newest
        if self._joint is not None or newest is None or not newest.driven_here:
            return None
        return Clock(self._key[1], newest.number, newest.head, newest.size)

    def hear(self, clocks: Sequence[Clock], past: int = 0) -> None:
        """Take in where the same group is on other nodes that read it; the farthest counts.

        `past`: the latest generation that was ever opened anywhere, even if no job reads it now.
        """
        self._heard = max(clocks, key=lambda clock: (clock.generation, clock.part), default=None)
        self._past = max(self._past, past, *(clock.generation for clock in clocks))
        if self.newest is not None:
            mine = [clock for clock in clocks if clock.generation == self.newest.number]
            self.newest.hear(max(mine, key=lambda clock: clock.part, default=None))

    def set_reach(self, reach: int) -> None:
        """Set how many rows memory holds, for a generation that opened when that was not known."""
        if self.newest is not None:
            self.newest.reach = _used_behind(reach)

    def _apart(self) -> bool:
        """Return whether the sets are of so different sizes that joint draws share more.

        A pass over a small set ends sooner; under streams it would hurry all others.
        """
        each = self._sets.values()
        sizes = [rows.size for rows, start in each if not start.rest and rows.size]
        return bool(sizes) and max(sizes) > UNEQUAL * min(sizes)

    def _change_mode(self, newcomer: Job, reach: int | None) -> None:
        """Take all jobs over to joint draws, or back.

        Joint draws are uniform whatever came before, and when they end a new generation opens, of
        which nobody knows anything: so nothing has to be remembered, but what a job may know of
        other nodes.
        """
        unread = {job: self.unread(job) for job in self._sets if job != newcomer}
        self.members.clear()
        self._gone.clear()
        self.newest = None
        if self._joint is None:
            self._joint = DependentSampler(self._bits.word())
            for job, rows in unread.items():
                self._joint.add(job, rows)
            self._joint.add(newcomer, self._sets[newcomer][0])
            return
        self._joint = None
        all_rows, start = self._sets[newcomer]
        self._begin(newcomer, all_rows, reach, Start(after=start.after))
        for job, rows in unread.items():
            after = self._sets[job][1].after
            self._begin(job, RowSet(rows), reach, Start(rest=True, after=after))

    def _remember(self, rows: RowSet) -> None:
        """Keep some rows of a set, to find out who else belongs here."""
        latest = self._samples.pop(id(rows), None)
        if latest is None:
            latest = (rows, rows.some(PROBES))
            self.index.grow(rows)
        self._samples[id(rows)] = latest
        if len(self._samples) > MOST_SETS + len(self._sets):
            used = {id(known) for known, _ in self._sets.values()}
            del self._samples[next(known for known in self._samples if known not in used)]

    def _begin(self, job: Job, rows: RowSet, reach: int | None, start: Start) -> None:
        past = self._gone.pop(job, None)
        generation = self._running(rows, reach, start.after)
        drives = not start.rest or not generation.driven
        follower = Follower(rows, generation, drives, start.behind)
        if drives:
            generation.drivers.append(follower)
        if past is not None and past.generation is generation:
            self._go_on(follower, past)
        elif not drives or rows.size != generation.size:
            marks = np.zeros(self.index.span, np.uint8)
            marks[self.index.numbers(rows)] = FREE
            follower.use_marks(marks)
        self.members[job] = follower

    def _running(self, rows: RowSet, reach: int | None, after: int) -> Generation:
        """Return the generation in which a pass over these rows begins; open one if need be."""
        newest, heard = self.newest, self._heard
        if heard is not None and heard.generation > self._opened:
            # Others are in one that nobody here has seen: theirs if it is not nearly over.
            newest = self._open(rows, reach, heard.generation)
            newest.hear(heard)
        # One that nobody drove for a while may be driven elsewhere now; who read it is forgotten.
        known = newest is not None and (not self._remembers(newest) or newest.number <= after)
        if newest is None or known or newest.over or not newest.driven:
            return self._open(rows, reach, max(self.latest, after) + 1)
        if not any(known is rows for known in self._united):
            self._admit(newest, rows)
        return newest

    def _remembers(self, generation: Generation) -> bool:
        """Tell whether it is known here who has read a generation, so that a pass may begin in it.

        Whether jobs are here now does not matter: as long as others drive it, it is not forgotten.
        """
        return generation.number > self._forgotten

    def _open(self, rows: RowSet, reach: int | None, number: int) -> Generation:
        """Shuffle the rows of all who are here, or were when the last generation ran.

        The number is above all that were opened here before: what somebody has read of an order is
        known only while its generation is kept, so none may come again.
        """
        assert number > self._opened
        others = (follower.rows for follower in self._followers() if follower.rows.size)
        self._unite([rows, *others])
        self._gone.clear()
        self._opened = number
        if reach is None:
            reach = self._present.size // 20
        seeds = set(self._seeds.values())
        common = seeds.pop() if len(seeds) == 1 else None
        key = (self._seed if common is None else common, *self._key, self._opened)
        self.newest = Generation(key, self._present, self.index.span, _used_behind(reach))
        return self.newest

    def _admit(self, newest: Generation, rows: RowSet) -> None:
        """Insert rows that the running generation does not have."""
        before = self._present
        self._unite([*self._united, rows])
        if self._present.size == before.size:
            return
        inserted = np.setdiff1d(self._present, before, assume_unique=True)
        followers = self._followers()
        for follower in followers:
            if follower.generation is newest and follower.marks is None:
                follower.mark()  # it reads all rows no longer
        moved = newest.grow(self._present, self.index.span)
        for follower in followers:
            follower.move(newest, moved, inserted)

    def _followers(self) -> list[Follower]:
        return [*self.members.values(), *self._gone.values()]

    def _unite(self, sets: list[RowSet]) -> None:
        distinct = list({id(rows): rows for rows in sets}.values())
        if {id(rows) for rows in distinct} == {id(rows) for rows in self._united}:
            return
        self._united = distinct
        for rows in distinct:
            self.index.grow(rows)
        if len(distinct) == 1:
            self._present = self.index.numbers(distinct[0])
            return
        here = np.zeros(self.index.span, np.bool_)
        for rows in distinct:
            here[self.index.numbers(rows)] = True
        self._present = np.flatnonzero(here).astype(np.uint32)

    def _go_on(self, follower: Follower, past: Follower) -> None:
        """Begin a pass in a generation that the job has followed before.

        Rows are alike if each was taken, passed over or waited for whenever another was. Two kinds
        may be: those the last pass had not read when it ended (UNREAD), and those it never looked
        for since it began to follow (0). They are not like each other: an unread row cannot lie
        where the job has been. The larger kind is followed, all other rows are known.
        """
        if past.marks is None:
            past.mark()
        assert past.marks is not None
        before = np.zeros(self.index.span, np.uint8)
        before[: past.marks.size] = past.marks
        mine = self.index.numbers(follower.rows)
        kind = before & (UNREAD | KNOWN)
        waited = np.count_nonzero(kind[mine] == UNREAD) >= np.count_nonzero(kind[mine] == 0)
        alike = kind == (UNREAD if waited else 0)
        marks = np.where(alike, np.uint8(0), KNOWN)
        marks[mine] |= FREE
        follower.use_marks(marks)
        known = mine[~alike[mine]]
        if known.size:
            follower.set_known(known, self._bits)


def _used_behind(reach: int) -> int:
    """Return how far behind the head memory is used: a fifth is for what is ahead, and tails."""
    return reach * 4 // 5
