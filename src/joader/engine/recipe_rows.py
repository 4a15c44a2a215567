"""How positions of a job, rows of its dataset, draws of a sampler and samples hang together.

A *position* is a place in the job's dataset. Several positions may hold the same row. A sampler
draws distinct *numbers*, so the k-th position of a row (counted from 0) has the number row + k *
row_limit: jobs that read a row equally often share its numbers. A *sample* is base + row, where
`base` is given to the recipe (recipes.py), or a further instance of it (instances.py).
"""

import numpy as np
from numpy.typing import NDArray

from joader.errors import BadArgument, BadRows

NUMBER_LIMIT = 1 << 32
Array = NDArray[np.int64]


class JobRows:
    """A job's positions by sampler number."""

    def __init__(self, rows: Array, row_limit: int) -> None:
        """Number the positions; a row that occurs too often for 32 bits is refused."""
        if rows.size and not (int(rows.min()) >= 0 and int(rows.max()) < row_limit):
            raise BadRows(f"rows must lie in [0, {row_limit}), the length of the dataset")
        self.rows = rows
        self.row_limit = row_limit
        occurrence = _occurrence(rows)
        self.distinct = not occurrence.any()
        self.numbers = rows + row_limit * occurrence
        if self.numbers.size and int(self.numbers.max()) >= NUMBER_LIMIT:
            raise BadArgument(
                f"a row occurs {int(self.numbers.max()) // row_limit + 1} times in a dataset of "
                f"{row_limit} rows; more than {NUMBER_LIMIT // row_limit} are not supported"
            )
        self._identity = bool(np.array_equal(self.numbers, np.arange(rows.size)))
        if not self._identity:
            self._order = np.argsort(self.numbers, kind="stable")
            self._sorted = self.numbers[self._order]

    def positions(self, numbers: Array) -> Array:
        """Return the positions of these numbers."""
        if self._identity:
            return numbers
        return np.asarray(self._order[np.searchsorted(self._sorted, numbers)])


def _occurrence(rows: Array) -> Array:
    """Return for each position how many earlier positions hold the same row."""
    order = np.argsort(rows, kind="stable")
    ordered = rows[order]
    first = np.r_[True, ordered[1:] != ordered[:-1]] if rows.size else np.empty(0, np.bool_)
    starts = np.flatnonzero(first)
    counts = np.arange(rows.size) - np.repeat(starts, np.diff(np.r_[starts, rows.size]))
    result = np.empty(rows.size, np.int64)
    result[order] = counts
    return result
