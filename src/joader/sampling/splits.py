"""Parts of a dataset for jobs that run side by side: cross-validation folds, growing subsets.

Positions are ascending, and a pure function of the arguments. Pass them to torch's `Subset`, or to
a table as `where=`: jobs then share every row that their parts have in common. Each fold's training
part has (k - 1) / k of the rows, so k jobs that do not share prepare each row k - 1 times.
"""

import operator
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from joader.errors import BadArgument
from joader.sampling.own_order import SeededSampler

Positions: TypeAlias = NDArray[np.int64]


def folds(length: int, count: int = 5, seed: int = 0) -> list[tuple[Positions, Positions]]:
    """Return (training part, held-out part) for each fold of a cross-validation."""
    length, count = _whole_number("length", length), _whole_number("count", count)
    if not 2 <= count <= length:
        raise BadArgument(
            f"{length} rows cannot be split into {count} folds; use 2 to {length} folds"
            if length >= 2
            else f"{length} rows are too few for folds; use a dataset of 2 rows or more"
        )
    held = [np.sort(part) for part in np.array_split(_shuffled(length, seed), count)]
    whole = np.arange(length, dtype=np.int64)
    return [(np.setdiff1d(whole, part, assume_unique=True), part) for part in held]


def growing(length: int, sizes: Sequence[int | float], seed: int = 0) -> list[Positions]:
    """Return random parts, each contained in the next larger one.

    A size is a number of rows, or a share up to 1.0: 1 is one row, 1.0 is all of them.
    """
    length = _whole_number("length", length)
    order = _shuffled(length, seed)
    return [np.sort(order[: _rows_of_part(size, length)]) for size in sizes]


def _rows_of_part(size: int | float, length: int) -> int:
    if isinstance(size, float):
        # The comparison is false for NaN, too.
        rows = round(size * length) if 0.0 <= size <= 1.0 else -1
    else:
        rows = _whole_number("a size", size)
    if not 1 <= rows <= length:
        what = "is empty" if rows == 0 else "is not possible"
        raise BadArgument(
            f"a part of {size!r} of {length} rows {what}; give 1 to {length} rows, or a share of "
            "at least one row and at most 1.0"
        )
    return rows


def _whole_number(name: str, value: object) -> int:
    try:
        if not isinstance(value, bool):
            return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        pass
    raise BadArgument(f"{name} is {value!r}; it must be a whole number")


def _shuffled(length: int, seed: int) -> Positions:
    if length < 0:
        raise BadArgument(f"length={length} is negative; use 0 or more")
    sampler = SeededSampler(seed)
    sampler.add("all", np.arange(length))
    return sampler.draw({"all": length})["all"]
