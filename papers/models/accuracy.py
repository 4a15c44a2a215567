"""What a model is worth: how far it is from runs that it has not seen.

A-Dloader's "accuracy" (Table I) is not defined; R² and the median relative error are used here.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from joader.errors import BadArgument

T = TypeVar("T")


@dataclass(frozen=True)
class Accuracy:
    """R² (1 at best, 0 for one who always says the mean), and the median of |error| / value."""

    r_squared: float
    median_error: float
    count: int


def accuracy(predicted: Sequence[float], measured: Sequence[float]) -> Accuracy:
    """Compare what a model says with what was measured."""
    if not measured or len(predicted) != len(measured):
        raise BadArgument(f"{len(predicted)} predictions for {len(measured)} measured values")
    said, seen = np.array(predicted), np.array(measured)
    spread = float(((seen - seen.mean()) ** 2).sum())
    missed = float(((seen - said) ** 2).sum())
    r_squared = 1.0 - missed / spread if spread else float(missed == 0.0)
    return Accuracy(r_squared, float(np.median(np.abs(said - seen) / seen)), len(seen))


def parts(count: int, seed: int, learned: float = 0.6) -> tuple[list[int], list[int]]:
    """Return which of so many runs are learned from, and which are held out (A-Dloader: 60 %)."""
    order = np.random.default_rng(seed).permutation(count).tolist()
    at = max(1, min(count - 1, round(learned * count)))
    return sorted(order[:at]), sorted(order[at:])


def one_kind_out(
    runs: Sequence[T], kind: Callable[[T], str]
) -> Iterator[tuple[str, list[int], list[int]]]:
    """Hold out each kind whole, one after the other: its name, what is learned from, the rest."""
    for name in sorted({kind(run) for run in runs}):
        kept = [place for place, run in enumerate(runs) if kind(run) != name]
        yield name, kept, [place for place, run in enumerate(runs) if kind(run) == name]
