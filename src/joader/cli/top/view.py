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
HELP = "q quit  ↑↓ select  Enter details  s sort  r reverse"


@dataclass(frozen=True)
class View:
    """What is selected and how it is sorted."""

    sort: str = "number"
    backwards: bool = False
    selected: int | None = None  # by job, so that it stays when others come and go
    details: bool = False
    ended: bool = False

    def ordered(self, jobs: tuple[JobStatistics, ...]) -> list[JobStatistics]:
        """Return jobs in the order they are shown in."""
        by_number = sorted(jobs, key=SORTS["number"])
        return sorted(by_number, key=SORTS[self.sort], reverse=self.backwards)

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
                return replace(self, details=not self.details, selected=self._number(jobs))
            case "s":
                names = list(SORTS)
                return replace(self, sort=names[(names.index(self.sort) + 1) % len(names)])
            case "r":
                return replace(self, backwards=not self.backwards)
            case "up" | "k":
                return self._moved(-1, jobs)
            case "down" | "j":
                return self._moved(1, jobs)
        return self

    def _number(self, jobs: tuple[JobStatistics, ...]) -> int | None:
        chosen = self.chosen(jobs)
        return chosen.id if chosen else None

    def _moved(self, step: int, jobs: tuple[JobStatistics, ...]) -> "View":
        numbers = [job.id for job in self.ordered(jobs)]
        if not numbers:
            return self
        at = numbers.index(self._number(jobs) or numbers[0])
        return replace(self, selected=numbers[min(len(numbers) - 1, max(0, at + step))])
