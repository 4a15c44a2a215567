"""Jobs that read pass after pass, and statistics that tell their orders from reshuffles.

All statistics look at one job alone, since that is what streams promise. Each returns a z-value,
about standard normal if the orders are independent uniform permutations.

*Power* for 40 rows, at z = 5, by the number of passes:
                                     500    4,000   100,000
one cell of the 5 x 5 table         15 %     5 %      1 %      off
one cell of the 10 x 10 table       51 %    18 %      4 %
a class of half of the rows,
in one tenth of a pass              11 %     4 %      1 %
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from joader.sampling import Sampler

Order = NDArray[np.int64]
# One value above this in fewer than 2,000 of them: less than 1e-3 by chance, and seeds are fixed.
LIMIT = 5.0


@dataclass(frozen=True)
class Scenario:
    """Who reads what, how fast, from when; times are passes of the fastest."""

    speeds: tuple[float, ...]
    starts: tuple[float, ...]
    rows: int = 40
    sets: str = "equal"  # or "folds", "random"
    reach: int = 2
    tick: int = 4
    wander: float = 0.0
    leaves: float = 0.0  # the chance to leave and return, each tick
    turn: float = 0.0  # how much of the speed depends on the row read last
    behind: int = 0  # how far behind the head passes begin, at most

    def with_(self, **changes: object) -> "Scenario":
        """Return the same with something else."""
        return replace(self, **changes)  # type: ignore[arg-type]

    def datasets(self) -> list[Order]:
        """Return the rows of each job."""
        everything = np.arange(self.rows)
        if self.sets == "folds":
            return [everything[everything % 5 != job % 5] for job in range(len(self.speeds))]
        if self.sets == "random":
            rng = np.random.default_rng(5)
            return [rng.permutation(self.rows)[: self.rows * 3 // 4] for _ in self.speeds]
        return [everything for _ in self.speeds]


@dataclass
class Played:
    """What a job read: complete passes, with None where one was broken off, and what then came."""

    orders: list[Order | None] = field(default_factory=list)
    broken: list[tuple[Order, Order]] = field(default_factory=list)  # (read of it, the next pass)


def play(make: Callable[[], Sampler], scenario: Scenario, passes: int, seed: int) -> list[Played]:
    """Let the jobs read until the slowest has read so many passes."""
    sampler, rng = make(), np.random.default_rng(seed)
    datasets = scenario.datasets()
    jobs = range(len(datasets))
    played = [Played() for _ in jobs]
    reading: list[list[int]] = [[] for _ in jobs]
    broken: list[Order | None] = [None for _ in jobs]
    left, credit, now = [0 for _ in jobs], [0.0 for _ in jobs], 0
    rate = [speed / max(scenario.speeds) for speed in scenario.speeds]
    while min(len(job.orders) for job in played) < passes:
        counts = {}
        for job in jobs:
            if now < scenario.starts[job] * scenario.rows:
                continue
            if left[job] and scenario.leaves and rng.random() < scenario.leaves:
                sampler.remove(job)
                broken[job] = np.array(reading[job], np.int64)
                played[job].orders.append(None)
                left[job] = 0
            if not left[job]:
                start = {"behind": int(rng.integers(scenario.behind))} if scenario.behind else {}
                sampler.add(job, datasets[job], **start)
                reading[job], left[job] = [], datasets[job].size
            speed = rate[job] * (1 + scenario.wander * (2 * rng.random() - 1))
            if scenario.turn and reading[job]:
                speed *= 1 + scenario.turn * (reading[job][-1] * 2 / scenario.rows - 1)
            credit[job] += speed * scenario.tick
            counts[job] = min(int(credit[job]), left[job])
            credit[job] -= int(credit[job])
        for job, rows in sampler.draw(counts).items():
            reading[job] += rows.tolist()
            left[job] -= rows.size
            if rows.size and not left[job]:
                order = np.array(reading[job], np.int64)
                before = broken[job]
                if before is not None:
                    played[job].broken.append((before, order))
                    broken[job] = None
                played[job].orders.append(order)
        now += scenario.tick
    return played


def scores(played: Played, rows: int, classes: Sequence[Order] = ()) -> dict[str, float]:
    """Return z-values by name."""
    found = {
        "5 x 5": _table(played.orders, rows, 5, 1),
        "10 x 10": _table(played.orders, rows, 10, 1),
        "two passes on": _table(played.orders, rows, 5, 2),
        "last to first": _corner(played.orders, rows),
        "first rows": _first(played.orders),
        "pairs": _pairs(played.orders, rows),
        "rows by tenth": _by_tenth(played.orders, rows),
        "broken off": _after_a_break(played.broken, rows),
    }
    for number, part in enumerate(classes):
        found[f"class {number} by tenth"] = _by_class(played.orders, rows, part)
    return found


def _z(statistic: float, freedom: float) -> float:
    """Return a chi-squared value as a standard normal one (Wilson and Hilferty)."""
    ninth = 2 / (9 * freedom)
    return ((statistic / freedom) ** (1 / 3) - (1 - ninth)) / ninth**0.5


def _parts(order: Order, rows: int, bins: int) -> Order:
    part = np.full(rows, -1)
    part[order] = np.arange(order.size) * bins // order.size
    return part


def _table(orders: Sequence[Order | None], rows: int, bins: int, lag: int) -> float:
    """Part of a pass against part of a later one."""
    counts, expected, size = np.zeros(bins * bins), np.zeros(bins * bins), 2
    for one, other in zip(orders, orders[lag:], strict=False):
        if one is not None and other is not None:
            first, second = _parts(one, rows, bins)[one], _parts(other, rows, bins)[one]
            counts += np.bincount(first * bins + second, minlength=bins * bins)
            share = np.bincount(first, minlength=bins) / one.size
            expected += np.outer(share, share).ravel() * one.size
            size = one.size
    if not expected.all():
        return 0.0
    return _z(
        float(((counts - expected) ** 2 / expected).sum() * (size - 1) / size), (bins - 1) ** 2
    )


def _corner(orders: Sequence[Order | None], rows: int) -> float:
    """How many of the last twentieth of a pass are in the first twentieth of the next."""
    surplus, variance = 0.0, 1e-9
    for one, other in pairwise(orders):
        if one is not None and other is not None:
            few = max(2, one.size // 20)
            share = few / one.size
            surplus += np.isin(one[-few:], other[:few]).sum() - few * share
            variance += few * share * (1 - share) * (one.size - few) / (one.size - 1)
    return abs(float(surplus)) / variance**0.5


def _first(orders: Sequence[Order | None]) -> float:
    firsts = [order[0] for order in orders if order is not None]
    size = next((order.size for order in orders if order is not None), 2)
    counts = np.bincount(firsts)
    expected = len(firsts) / size
    statistic = ((counts[counts > 0] - expected) ** 2).sum() / expected
    statistic += (size - np.count_nonzero(counts)) * expected
    return _z(float(statistic), size - 1)


def _pairs(orders: Sequence[Order | None], rows: int) -> float:
    """Which row follows which within a pass."""
    counts, total, size = np.zeros(rows * rows), 0, 2
    for order in orders:
        if order is not None:
            np.add.at(counts, order[:-1] * rows + order[1:], 1)
            total += order.size - 1
            size = order.size
    cells = size * (size - 1)
    expected = total / cells
    seen = counts[counts > 0]
    statistic = ((seen - expected) ** 2).sum() / expected + (cells - seen.size) * expected
    return _z(float(statistic), cells - 1)


def _by_tenth(orders: Sequence[Order | None], rows: int) -> float:
    """When each row comes in a pass."""
    counts, total, size = np.zeros(rows * 10), 0, 2
    for order in orders:
        if order is not None:
            counts += np.bincount(
                order * 10 + np.arange(order.size) * 10 // order.size, minlength=rows * 10
            )
            total, size = total + 1, order.size
    present = counts.reshape(rows, 10)[counts.reshape(rows, 10).any(1)]
    expected = np.bincount(np.arange(size) * 10 // size, minlength=10) * total / size
    statistic = ((present - expected) ** 2 / expected).sum() * (size - 1) / size
    return _z(float(statistic), (size - 1) * 9)


def _by_class(orders: Sequence[Order | None], rows: int, part: Order) -> float:
    """When the rows of a class come: leaders' sets show here, and in no table of passes."""
    inside = np.zeros(rows, np.bool_)
    inside[part] = True
    surplus, variance = np.zeros(10), np.zeros(10)
    for order in orders:
        if order is not None:
            share = inside[order].mean()
            tenth = np.arange(order.size) * 10 // order.size
            size = np.bincount(tenth, minlength=10)
            surplus += np.bincount(tenth, inside[order], 10) - size * share
            variance += size * share * (1 - share) * (order.size - size) / (order.size - 1)
    return float(np.abs(surplus / np.sqrt(variance + 1e-9)).max())


def _after_a_break(broken: Sequence[tuple[Order, Order]], rows: int) -> float:
    """Whether what was read of a pass that was broken off comes earlier or later in the next."""
    surplus, variance = np.zeros(5), np.zeros(5)
    for read, order in broken:
        inside = np.zeros(rows, np.bool_)
        inside[read] = True
        share = inside[order].mean()
        part = np.arange(order.size) * 5 // order.size
        size = np.bincount(part, minlength=5)
        surplus += np.bincount(part, inside[order], 5) - size * share
        variance += size * share * (1 - share) * (order.size - size) / (order.size - 1)
    return float(np.abs(surplus / np.sqrt(variance + 1e-9)).max())
