"""What `joader top` shows of a node at a width and height; what is typed changes a `View` only."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from joader.statistics import JobStatistics

Key = Callable[[JobStatistics], float | str]

# By name, in the order in which `s` goes through them; figures start with the largest.
SORTS: dict[str, Key] = {
    "number": lambda job: job.id,
    "name": lambda job: job.name.lower(),
    "rate": lambda job: -job.samples_per_s,
    "waiting": lambda job: -job.waiting,
    "saved": lambda job: -(job.saved or 0.0),
    "workers": lambda job: -job.worker_share,
}
# So many jobs, or lines of one, does a page have.
_PAGE = 10


@dataclass(frozen=True)
class View:
    """What is selected and how it is sorted."""

    sort: str = "number"
    backwards: bool = False
    selected: int | None = None  # by job, so that it stays when others come and go
    details: bool = False
    scrolled: int = 0  # lines of the details that are above the screen
    ended: bool = False

    def ordered(self, jobs: tuple[JobStatistics, ...]) -> list[JobStatistics]:
        """Return jobs in the order they are shown in: below those that read, those that ended."""
        by_number = sorted((job for job in jobs if not job.ended), key=SORTS["number"])
        past = sorted((job for job in jobs if job.ended), key=lambda job: -job.ended)
        return [*sorted(by_number, key=SORTS[self.sort], reverse=self.backwards), *past]

    def chosen(self, jobs: tuple[JobStatistics, ...]) -> JobStatistics | None:
        """Return the selected job; the first, if that has left."""
        ordered = self.ordered(jobs)
        first = ordered[0] if ordered else None
        return next((job for job in ordered if job.id == self.selected), first)

    def after(self, key: str, jobs: tuple[JobStatistics, ...]) -> "View":
        """Return the view after a key was pressed."""
        match key:
            case "q" | "ctrl-c":
                return replace(self, ended=True)
            case "escape" | "left" | "backspace" if self.details:
                return replace(self, details=False)
            case "enter" | "right" if jobs:
                return replace(
                    self, details=not self.details, selected=self._number(jobs), scrolled=0
                )
            case "s":
                names = list(SORTS)
                return replace(self, sort=names[(names.index(self.sort) + 1) % len(names)])
            case "r":
                return replace(self, backwards=not self.backwards)
            case "up" | "k":
                return self._moved(-1, jobs)
            case "down" | "j":
                return self._moved(1, jobs)
            case "page up" | "page down":
                page = -_PAGE if key == "page up" else _PAGE
                if self.details:
                    return replace(self, scrolled=max(0, self.scrolled + page))
                return self._moved(page, jobs)
            case "home" | "end":
                return self._moved(-len(jobs) if key == "home" else len(jobs), jobs)
        return self

    def within(self, lines: int, room: int) -> "View":
        """Return the view that shows no further down than the last of so many lines."""
        return replace(self, scrolled=min(self.scrolled, max(0, lines - room)))

    def _number(self, jobs: tuple[JobStatistics, ...]) -> int | None:
        chosen = self.chosen(jobs)
        return chosen.id if chosen else None

    def _moved(self, step: int, jobs: tuple[JobStatistics, ...]) -> "View":
        numbers = [job.id for job in self.ordered(jobs)]
        if not numbers:
            return self
        at = numbers.index(self._number(jobs) or numbers[0])
        moved = numbers[min(len(numbers) - 1, max(0, at + step))]
        return replace(self, selected=moved, scrolled=self.scrolled if moved == numbers[at] else 0)
