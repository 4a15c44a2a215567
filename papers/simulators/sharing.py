"""What an order shares: jobs draw, a memory keeps what is used soonest, and nothing else happens.

The rest of the simulator runs the engine; this runs samplers alone, with a memory that is told the
next use of each row where it is known (streams), and otherwise keeps what will be asked for most
often (as cache/eviction/expected_use.py). So it shows what an order is worth, without look-ahead.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from joader.errors import BadArgument
from joader.sampling import DependentSampler, IndependentSampler, Sampler, StreamSampler
from papers.simulators.opportunistic import OpportunisticSampler

Rows = NDArray[np.int64]
ORDERS = ("streams", "dependent", "independent", "opportunistic")


@dataclass(frozen=True)
class Reader:
    """A job: what it reads, how fast, from when; the unit of time is a pass of the fastest."""

    rows: Rows
    speed: float = 1.0
    start: float = 0.0


@dataclass(frozen=True)
class Shared:
    """Preparations per delivered row, and the complete passes of each job."""

    prepared_per_delivered: float
    passes: tuple[tuple[Rows, ...], ...]


class _Memory:
    """Which rows are there; what will be used last leaves first."""

    def __init__(self, rows: int, capacity: int) -> None:
        self.there = np.zeros(rows, np.bool_)
        self.capacity = capacity
        self.count = self.prepared = 0

    def use(self, rows: Rows) -> None:
        """Prepare those of the rows that are missing."""
        missing = rows[~self.there[rows]]
        self.there[missing] = True
        self.count += missing.size
        self.prepared += missing.size


def share(
    order: str, readers: Sequence[Reader], capacity: int, passes: int = 6, seed: int = 0
) -> Shared:
    """Let the readers read until the slowest has read so many passes."""
    limit = 1 + max(int(reader.rows.max()) for reader in readers)
    memory = _Memory(limit, capacity)
    sampler = _sampler(order, seed, memory)
    fastest = max(reader.speed for reader in readers)
    longest = max(reader.rows.size for reader in readers)
    tick = max(1, longest // 1000)
    credit, left = [0.0] * len(readers), [0] * len(readers)
    read: list[list[Rows]] = [[] for _ in readers]
    done: list[list[Rows]] = [[] for _ in readers]
    delivered = now = 0
    while min(map(len, done)) < passes:
        counts = {}
        for job, reader in enumerate(readers):
            if now < reader.start * longest:
                continue
            if not left[job]:
                sampler.add(job, reader.rows)
                left[job], read[job] = reader.rows.size, []
            credit[job] += tick * reader.speed / fastest
            counts[job] = min(int(credit[job]), left[job])
            credit[job] -= int(credit[job])
        for job, rows in sampler.draw(counts).items():
            memory.use(rows)
            delivered += rows.size
            left[job] -= rows.size
            read[job].append(rows)
            if rows.size and not left[job]:
                done[job].append(np.concatenate(read[job]))
        if memory.count > capacity:
            _make_room(memory, sampler, readers, counts)
        now += tick
    return Shared(memory.prepared / delivered, tuple(map(tuple, done)))


def unevenness(passes: Sequence[Sequence[Rows]], parts: int = 5) -> float:
    """Return χ²/freedom of where rows of each part of a pass come in the next: 1 by chance.

    It is the mean over the jobs of their own values: their orders depend on each other.
    """
    return float(np.mean([_chi_squared(orders, parts) for orders in passes]))


def _chi_squared(orders: Sequence[Rows], parts: int) -> float:
    counts, expected = np.zeros(parts * parts), np.full(parts * parts, 1e-9)
    size = 2
    for one, other in pairwise(orders):
        size = one.size
        part = np.arange(size) * parts // size
        place = np.zeros(int(one.max()) + 1, np.int64)
        place[other] = part
        counts += np.bincount(part * parts + place[one], minlength=parts * parts)
        width = np.bincount(part, minlength=parts) / size
        expected += np.outer(width, width).ravel() * size
    statistic = ((counts - expected) ** 2 / expected).sum()
    return float(statistic * (size - 1) / size / (parts - 1) ** 2)


def _sampler(order: str, seed: int, memory: _Memory) -> Sampler:
    if order == "streams":
        return StreamSampler(seed, reach=memory.capacity)
    if order == "dependent":
        return DependentSampler(seed)
    if order == "independent":
        return IndependentSampler(seed)
    if order == "opportunistic":
        return OpportunisticSampler(lambda rows: memory.there[rows], seed)
    raise BadArgument(f"order is {order!r}; use one of {', '.join(ORDERS)}")


def _make_room(
    memory: _Memory, sampler: Sampler, readers: Sequence[Reader], counts: dict[int, int]
) -> None:
    """Let go what will be used last."""
    there = np.flatnonzero(memory.there)
    away = sampler.next_use(there) if isinstance(sampler, StreamSampler) else np.array([np.nan])
    if np.isnan(away).any():
        away = _expected_use(there, sampler, readers, counts)
    surplus = memory.count - memory.capacity
    leaving = there[np.argpartition(-away, surplus - 1)[:surplus]]
    memory.there[leaving] = False
    memory.count = memory.capacity


def _expected_use(
    there: Rows, sampler: Sampler, readers: Sequence[Reader], counts: dict[int, int]
) -> NDArray[np.float64]:
    """Return minus the rate at which each row will be asked for in the passes that run."""
    rate = np.zeros(int(there.max()) + 1)
    for job in counts:
        unread = sampler.unread(job)
        if unread.size:
            rate[unread[unread < rate.size]] += readers[job].speed / unread.size
    return -rate[there]
