"""How the positions of a job, rows of its dataset, draws of a sampler and samples are related.

A *position* is a place in the job's dataset. Several positions may hold the same row. A sampler
draws distinct *numbers*, so the k-th position of a row (counted from 0) has the number row + k *
row_limit: jobs that read a row equally often share its numbers. A *sample* is base + row, where
the engine gives `base` to the recipe, or to a further instance of it.
"""

import numpy as np
from numpy.typing import NDArray

from joader.errors import BadArgument, BadRows
from joader.sampling.own_order import SeededSampler

NUMBER_LIMIT = 1 << 32
Array = NDArray[np.int64]


class JobRows:
    """A job's positions by sampler number; four bytes per position if rows are in order."""

    def __init__(self, rows: Array, row_limit: int) -> None:
        """Number the positions; a row that occurs too often for 32 bits is refused."""
        if rows.size and not (int(rows.min()) >= 0 and int(rows.max()) < row_limit):
            raise BadRows(f"rows must lie in [0, {row_limit}), the length of the dataset")
        self.row_limit = row_limit
        self.rows = rows.astype(np.uint32)
        self.distinct = _are_distinct(rows, row_limit)
        self.numbers = self.rows
        self.most_times = 1  # that a row occurs
        if not self.distinct:
            numbers = rows + row_limit * occurrence(rows)
            self.most_times = int(numbers.max()) // row_limit + 1
            if int(numbers.max()) >= NUMBER_LIMIT:
                raise BadArgument(
                    f"a row occurs {self.most_times} times in a dataset of "
                    f"{row_limit} rows; more than {NUMBER_LIMIT // row_limit} are not supported"
                )
            self.numbers = numbers.astype(np.uint32)
        self._order: NDArray[np.uint32] | None = None
        if self.numbers.size and np.any(self.numbers != np.arange(rows.size, dtype=np.uint32)):
            self._order = np.argsort(self.numbers, kind="stable").astype(np.uint32)

    def has(self, row: int) -> bool:
        """Tell whether some position stands for a row."""
        return bool((self.rows == row).any())

    def positions(self, numbers: Array) -> Array:
        """Return the positions of these numbers."""
        if self._order is None:
            return numbers
        places = np.searchsorted(self.numbers, numbers.astype(np.uint32), sorter=self._order)
        return self._order[places].astype(np.int64)

    def find(self, numbers: Array) -> Array:
        """Return the positions of numbers that came from elsewhere; -1 for unknown ones."""
        if not self.numbers.size:
            return np.full(numbers.size, -1, np.int64)
        known = np.clip(numbers, 0, NUMBER_LIMIT - 1).astype(np.uint32)
        places = np.searchsorted(self.numbers, known, sorter=self._order)
        places = np.minimum(places, self.numbers.size - 1)
        positions = places if self._order is None else self._order[places]
        return np.where(self.numbers[positions] == numbers, positions, -1).astype(np.int64)

    def left(self, done: Array, epoch: int = 0, seed: int | None = None) -> Array:
        """Return the numbers of a pass without these positions; with a seed, in its order.

        What is left of a seeded pass keeps its order: a resumed job reads as if it had never
        stopped.
        """
        left = np.ones(self.numbers.size, np.bool_)
        left[done] = False
        if seed is None:
            return self.numbers[left].astype(np.int64)
        seeded = SeededSampler(seed)
        seeded.add("job", self.numbers, epoch)
        order = seeded.draw({"job": self.numbers.size})["job"]
        return np.asarray(order[left[self.positions(order)]])

    def samples(self, base: int, numbers: Array) -> Array:
        """Return the distinct samples of these numbers."""
        rows = numbers % self.row_limit
        return base + (rows if self.distinct else np.unique(rows))


def _are_distinct(rows: Array, row_limit: int) -> bool:
    if row_limit > 8 * rows.size:  # a map of all rows would take more than a copy of these
        ordered = np.sort(rows)
        return not np.any(ordered[1:] == ordered[:-1])
    seen = np.zeros(row_limit, np.bool_)
    seen[rows] = True
    return int(np.count_nonzero(seen)) == rows.size


def occurrence(rows: Array) -> Array:
    """Return for each position how many earlier positions hold the same row."""
    order = np.argsort(rows, kind="stable")
    ordered = rows[order]
    first = np.r_[True, ordered[1:] != ordered[:-1]] if rows.size else np.empty(0, np.bool_)
    starts = np.flatnonzero(first)
    counts = np.arange(rows.size) - np.repeat(starts, np.diff(np.r_[starts, rows.size]))
    result = np.empty(rows.size, np.int64)
    result[order] = counts
    return result
