"""How many workers are worth running at once: rows cost more the more of them are prepared.

Processors share caches and memory, and two of them may be one core. So a preparation takes more
processor time next to others than alone, and the rows per second of the whole pool grow more slowly
than the workers, up to a peak (A-Dloader Fig. 5, Lobster §4.1). The *knee* is the smallest number
that gives nearly the highest rate; more workers only take time from each other.

Costs are learned in passing, from reports and the number of workers that ran meanwhile, for each
recipe against itself: so a change of recipes is not taken for contention. A number that was never
seen is assumed to cost what the nearest smaller one did, so it is tried. Not here: workers that
wait for a disk or a network (feeding.py).
"""

import math
from collections.abc import Mapping

# How much of the past remains with each further report: a few hundred rows count.
_FADING = 0.98
# Reports that must have come while a number of workers ran before it counts.
_LEAST_REPORTS = 5
# The knee may give this much less than the highest rate.
_SLACK = 0.02


class _Cost:
    """Processor seconds and rows while one number of workers ran."""

    __slots__ = ("computed_s", "recalled", "reports", "rows")

    def __init__(self) -> None:
        self.computed_s = self.rows = 0.0
        self.reports = 0
        self.recalled = False  # from before

    def note(self, computed_s: float, rows: int) -> None:
        self.computed_s = _FADING * self.computed_s + computed_s
        self.rows = _FADING * self.rows + rows
        self.reports += 1

    @property
    def known(self) -> bool:
        return self.recalled or self.reports >= _LEAST_REPORTS

    @property
    def row_s(self) -> float:
        return self.computed_s / self.rows


class Knee:
    """What preparations cost, by how many workers run."""

    def __init__(self) -> None:
        """Start with nothing known."""
        self._costs: dict[str, dict[int, _Cost]] = {}

    def note(self, code: str, running: int, rows: int, computed_s: float) -> None:
        """Note what rows of a recipe cost while `running` workers ran."""
        if running > 0 and rows > 0 and computed_s > 0.0:
            of_code = self._costs.setdefault(code, {})
            of_code.setdefault(running, _Cost()).note(computed_s, rows)

    def recall(self, code: str, costs: Mapping[int, float]) -> None:
        """Take over what rows of a recipe cost before, by how many workers ran."""
        of_code = self._costs.setdefault(code, {})
        for running, row_s in costs.items():
            if running > 0 and 0.0 < row_s < math.inf and running not in of_code:
                cost = of_code[running] = _Cost()
                cost.computed_s, cost.rows, cost.recalled = row_s, 1.0, True

    def measured(self, code: str) -> dict[int, float]:
        """Return what rows of a recipe cost, by how many workers ran, as measured here.

        Recalled costs are left out: numbers beyond the knee never run, so what was once learned,
        perhaps on a bad day, would be handed on for ever. Left out, they are tried again next time.
        """
        found = self._costs.get(code, {}).items()
        return {running: one.row_s for running, one in found if one.reports >= _LEAST_REPORTS}

    def forget(self, code: str) -> None:
        """Forget a recipe without readers."""
        self._costs.pop(code, None)

    def costs(self, most: int) -> list[float]:
        """Return what a row costs with 1, 2, … workers; with one it costs 1."""
        found = [1.0]
        for running in range(2, most + 1):
            steps = [s for costs in self._costs.values() if (s := _step(costs, running)) > 0.0]
            found.append(found[-1] * (sum(steps) / len(steps) if steps else 1.0))
        return found

    def rates(self, most: int) -> list[float]:
        """Return how many times the rows of one worker 1, 2, … workers prepare together."""
        return [number / cost for number, cost in enumerate(self.costs(most), 1)]

    def knee(self, most: int) -> int:
        """Return how many workers to run, at most `most`."""
        rates = self.rates(most)
        enough = (1.0 - _SLACK) * max(rates)
        return next(number for number, rate in enumerate(rates, 1) if rate >= enough)


def _step(costs: dict[int, _Cost], running: int) -> float:
    """Return what a row costs with `running` workers, over what it costs with one fewer.

    Between two known numbers it grows evenly; 0 if it is not known.
    """
    known = [number for number, cost in costs.items() if cost.known]
    fewer = max((number for number in known if number < running), default=0)
    here = min((number for number in known if number >= running), default=0)
    if not fewer or not here:
        return 0.0
    return float((costs[here].row_s / costs[fewer].row_s) ** (1.0 / (here - fewer)))
