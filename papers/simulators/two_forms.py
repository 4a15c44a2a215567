"""What keeping raw and prepared samples side by side saves: one job, whose order is known.

Rows are read in a new random order in each pass, and it is known when each will be used next, as it
is of streams and seeded orders. Memory keeps nothing, raw samples only, prepared ones only, or of
each row what `cache.forms` chooses (`both`); `soonest` is the same, but weighs what a form saves by
how soon it is used, not by how often. Counted are the seconds of reading and preparing in the
passes after the first ones, per row read.
"""

from collections.abc import Sequence
from random import Random

import numpy as np

from joader.cache.two_forms import PREPARED, RAW, Costs, chosen, worth
from joader.errors import BadArgument

WAYS = ("nothing", RAW, PREPARED, "both", "soonest")
_WARM, _PASSES = 4, 4


class _Memory:
    """Which form of which row is there; what is worth least leaves first."""

    def __init__(self, costs: Sequence[Costs], memory_bytes: int, soonest: bool) -> None:
        self._costs, self._left, self._soonest = costs, memory_bytes, soonest
        self.form: list[str | None] = [None] * len(costs)
        self._worth = np.zeros(len(costs))  # of what is there, if used once per second
        self._next_use = np.zeros(len(costs))

    def drop(self, row: int) -> None:
        form = self.form[row]
        if form is not None:
            self._left += self._costs[row].size_bytes(form)
            self.form[row], self._worth[row] = None, 0.0

    def _rates(self, now: float) -> tuple[np.ndarray, np.ndarray]:
        """Return which rows are there, and what each is worth."""
        there = np.flatnonzero(self._worth)
        away = np.maximum(self._next_use[there] - now, 1e-6)
        # Of those that are worth the same, the farthest is worth a trifle less.
        return there, self._worth[there] / (away if self._soonest else 1.0 + 1e-9 * away)

    def choose(self, row: int, next_use: float, now: float) -> str | None:
        """Return the form that earns what memory costs now."""
        costs = self._costs[row]
        uses = 1.0 / max(next_use - now, 1e-6) if self._soonest else 1.0
        price = 0.0
        if self._left < max(costs.raw_bytes, costs.prepared_bytes):
            _, rates = self._rates(now)
            price = float(rates.min()) if rates.size else 0.0
        return chosen(costs, price, uses)

    def keep(self, row: int, form: str, next_use: float, now: float) -> None:
        """Keep a form of a row, if what must leave for it is worth less."""
        costs = self._costs[row]
        size, mine = costs.size_bytes(form), worth(costs, form)
        rate = mine / max(next_use - now, 1e-6) if self._soonest else mine
        while self._left < size:
            there, rates = self._rates(now)
            if not there.size or rates.min() >= rate * (1.0 - 1e-6):
                return
            self.drop(int(there[np.argmin(rates)]))
        self._left -= size
        self.form[row], self._worth[row], self._next_use[row] = form, mine, next_use


def spent_per_row(
    way: str, costs: Sequence[Costs], memory_bytes: int, seed: int = 0, row_s: float = 0.01
) -> float:
    """Return the seconds of reading and preparing per row, with a job that takes `row_s` each."""
    if way not in WAYS:
        raise BadArgument(f"there is no way {way!r}; use one of {', '.join(WAYS)}")
    count, draw = len(costs), Random(seed)
    memory, spent = _Memory(costs, memory_bytes, way == "soonest"), 0.0
    order = draw.sample(range(count), count)
    for number in range(_WARM + _PASSES):
        following = draw.sample(range(count), count)
        place = {row: place for place, row in enumerate(following)}
        for at, row in enumerate(order):
            now = (number * count + at) * row_s
            one, form = costs[row], memory.form[row]
            if number >= _WARM:
                spent += one.read_s + one.prepare_s - (one.saved_s(form) if form else 0.0)
            memory.drop(row)
            next_use = ((number + 1) * count + place[row]) * row_s
            chooses = way in ("both", "soonest")
            best = memory.choose(row, next_use, now) if chooses else way
            if best in (RAW, PREPARED):
                memory.keep(row, best, next_use, now)
        order = following
    return spent / (_PASSES * count)
