"""When simulated jobs begin, want and end: a virtual clock on which nothing waits.

A pass begins when the one before it ended, the first at the job's start. Its k-th row is due
k / speed after that, and a batch when its last row is. Times are whole numbers of a unit so small
that every job's times are exact.

Jobs meet in *rounds*, as in the papers: a moment is when the fastest job wants something, or a job
starts, and includes what the others have wanted since the last moment. Without rounds jobs would
meet only if the ratio of their speeds made their times equal.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

from joader.simulator.job import CheckedJob


@dataclass(frozen=True)
class Moment:
    """What happens in one round, in this order."""

    wants: tuple[tuple[int, int, float], ...]  # (job, count, when it was due)
    ends: tuple[int, ...]  # jobs whose last pass is over
    begins: tuple[tuple[int, int], ...]  # (job, epoch)


@dataclass
class _Course:
    """The state of one job: at `due` it takes the next `count` rows, none before its first pass."""

    number: int
    rows: int
    batch_size: int
    period: int  # between two rows
    epochs: int
    due: int
    count: int = 0
    left: int = 0
    epoch: int = -1

    @property
    def finished(self) -> bool:
        return not self.left and self.epoch + 1 == self.epochs

    def begin(self) -> None:
        self.epoch += 1
        self.left = self.rows
        self.step()

    def step(self) -> None:
        self.count = min(self.batch_size, self.left)
        self.left -= self.count
        self.due += self.count * self.period


def timeline(jobs: Sequence[CheckedJob], batch_size: int) -> Iterator[Moment]:
    """Yield the moments in order; a job without rows or epochs has none."""
    real = [(number, job) for number, job in enumerate(jobs) if job.rows.size and job.epochs]
    parts = lcm(*(x.denominator for _, job in real for x in (job.start, 1 / job.speed)))
    courses = [
        _Course(
            number,
            job.rows.size,
            batch_size,
            int(parts / job.speed),
            job.epochs,
            int(parts * job.start),
        )
        for number, job in real
    ]
    while courses:
        now = _next_moment(courses)
        due = [course for course in courses if course.due <= now]
        wants = tuple(
            (course.number, course.count, float(Fraction(course.due, parts)))
            for course in due
            if course.count
        )
        ends, begins = [], []
        for course in due:
            if course.left:
                course.step()
            elif course.finished:
                ends.append(course.number)
                courses.remove(course)
            else:
                course.begin()
                begins.append((course.number, course.epoch))
        yield Moment(wants, tuple(ends), tuple(begins))


def _next_moment(courses: Sequence[_Course]) -> int:
    """Return when the fastest job that has begun wants something, or earlier if a job starts."""
    begun = [course for course in courses if course.count]
    starts = [course.due for course in courses if not course.count]
    rounds = [min(begun, key=lambda course: course.period).due] if begun else []
    return min(rounds + starts)
