"""Parts of a dataset for jobs that run side by side: folds of a cross-validation, growing parts.

Positions come ascending, and are a pure function of length, seed and what is asked for. Give them
to torch's `Subset`, or to a table as `where=`: jobs then share every row that their parts have in
common. Each fold's training part has (k - 1) / k of the rows, so that k jobs which do not share
prepare each row k - 1 times.
"""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from joader.errors import BadArgument
from joader.sampling.own_order import SeededSampler

Positions: TypeAlias = NDArray[np.int64]


def folds(length: int, count: int = 5, seed: int = 0) -> list[tuple[Positions, Positions]]:
    """Return the parts to train on and to hold out, for each fold of a cross-validation."""
    if not 2 <= count <= length:
        raise BadArgument(
            f"{count} folds of {length} rows; there are at least 2 and at most {length}"
        )
    held = [np.sort(part) for part in np.array_split(_shuffled(length, seed), count)]
    whole = np.arange(length, dtype=np.int64)
    return [(np.setdiff1d(whole, part, assume_unique=True), part) for part in held]


def growing(length: int, sizes: Sequence[int | float], seed: int = 0) -> list[Positions]:
    """Return random parts, each within the next larger; sizes are rows, or shares up to 1.0."""
    order = _shuffled(length, seed)
    parts = []
    for size in sizes:
        rows = round(size * length) if isinstance(size, float) else size
        if not 0 <= rows <= length:
            raise BadArgument(
                f"a part of {size!r} of {length} rows; give rows, or a share up to 1.0"
            )
        parts.append(np.sort(order[:rows]))
    return parts


def _shuffled(length: int, seed: int) -> Positions:
    if length < 0:
        raise BadArgument(f"a dataset of {length} rows; a length is 0 or more")
    sampler = SeededSampler(seed)
    sampler.add("all", np.arange(length))
    return sampler.draw({"all": length})["all"]
