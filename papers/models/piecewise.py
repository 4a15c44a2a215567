"""A line with bends, fitted: Lobster's regression of time against threads (§4.1).

Continuous, so that a thread more or less never makes a jump; the bends are where they fit best, of
all that there could be.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from joader.errors import BadArgument

# Points that a bend must be worth: with fewer, a line would go through noise.
_POINTS_PER_BEND = 2
# A further bend must lower the error by this part.
_WORTH = 0.2


@dataclass(frozen=True)
class Piecewise:
    """Values at its ends and bends; straight in between, constant beyond its ends."""

    at: tuple[float, ...]
    values: tuple[float, ...]

    def __call__(self, x: float) -> float:
        """Return the value at x."""
        return float(np.interp(x, self.at, self.values))


def fit(x: Sequence[float], y: Sequence[float], most_bends: int = 2) -> Piecewise:
    """Fit a line with bends at some of x; errors count relative to y, which is above 0."""
    if not x or len(x) != len(y) or min(y) <= 0.0:
        raise BadArgument(f"cannot fit {len(y)} values at {len(x)} places; all must be above 0")
    places, seen = np.array(x, dtype=np.float64), np.array(y, dtype=np.float64)
    known = np.unique(places)
    if len(known) == 1:
        return Piecewise((float(known[0]),), (float(seen.mean()),))
    most = min(most_bends, len(known) // _POINTS_PER_BEND - 1)
    best, least = _bent(places, seen, known, ())
    for bends in range(1, most + 1):
        tries = [_bent(places, seen, known, at) for at in combinations(known[1:-1].tolist(), bends)]
        found, error = min(tries, key=lambda one: one[1])
        if error < (1.0 - _WORTH) * least:
            best, least = found, error
    return best


def _bent(
    places: NDArray[np.float64],
    seen: NDArray[np.float64],
    known: NDArray[np.float64],
    bends: tuple[float, ...],
) -> tuple[Piecewise, float]:
    rows = np.stack(
        [np.ones_like(places), places, *(np.maximum(0.0, places - at) for at in bends)], axis=1
    )
    found = np.linalg.lstsq(rows / seen[:, None], np.ones_like(seen), rcond=None)[0]
    error = float(np.abs(rows @ found / seen - 1.0).mean())
    at = np.array([known[0], *bends, known[-1]])
    values = found[0] + found[1] * at
    for bend, slope in zip(bends, found[2:], strict=True):
        values = values + slope * np.maximum(0.0, at - bend)
    least = float(seen.min()) / 10  # a line may cross zero; a time cannot
    return Piecewise(tuple(at.tolist()), tuple(np.maximum(values, least).tolist())), error
