"""What is known of recipes from before: what a row costs at each number of workers, how jobs read.

Learning this from each job takes a while: first rows open files, first steps compile. So what the
last jobs of a recipe have taught is kept under the name of the recipe, and the next one starts with
it. It is only a first guess: measurements replace it.

Not here: where it is kept between two daemons (daemon/experience_file.py).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

# The most recipes that are kept; the least recently used go first.
MOST_RECIPES = 256
# The same for jobs of one recipe.
MOST_JOBS = 16


@dataclass(frozen=True, slots=True)
class Pace:
    """What a row takes: in all, computing, and computing or waiting."""

    row_s: float
    computing_s: float
    worked_s: float

    @property
    def possible(self) -> bool:
        """Whether these values are plausible times."""
        return 0.0 < self.computing_s <= self.worked_s < math.inf and 0.0 < self.row_s < math.inf


@dataclass(frozen=True, slots=True)
class Habit:
    """How a job read: its time per sample between two waits, and how large its batches are."""

    step_s: float
    batch: float


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of one recipe."""

    rows: Pace
    beside: Mapping[int, float] = field(default_factory=dict)  # row cost, by how many workers ran
    habits: Mapping[str, Habit] = field(default_factory=dict)  # by name of the job, latest last

    def habit(self, name: str) -> Habit | None:
        """Return how a job of this name read, or the one that read last."""
        if name in self.habits:
            return self.habits[name]
        return list(self.habits.values())[-1] if self.habits else None


class Experience:
    """All recipes that are known, the latest used last."""

    def __init__(self, known: Mapping[str, Known] | None = None) -> None:
        """Start with what was known before."""
        self._known = dict(known or {})
        self.changed: set[str] = set()  # recipes that were learned of since this was emptied

    def of(self, code: str) -> Known | None:
        """Return what is known of a recipe."""
        return self._known.get(code)

    def learn(
        self,
        code: str,
        rows: Pace | None,
        beside: Mapping[int, float],
        habits: Mapping[str, Habit],
    ) -> None:
        """Note what is known of a recipe now; None: no row of it was timed here."""
        before = self._known.pop(code, None)
        rows = rows or (before.rows if before else None)
        if rows is None or not rows.possible:
            return
        if before is not None:
            beside = beside or before.beside
            others = {name: one for name, one in before.habits.items() if name not in habits}
            habits = {**others, **habits}
        kept = list(habits.items())[-MOST_JOBS:]
        self._known[code] = Known(rows, dict(beside), dict(kept))
        self.changed.add(code)
        for oldest in list(self._known)[: max(0, len(self._known) - MOST_RECIPES)]:
            del self._known[oldest]

    def all(self) -> dict[str, Known]:
        """Return all that is known."""
        return dict(self._known)
