"""A-Dloader's model of the training rate (formula 6): how long a step takes, from five numbers.

    1 / F_μ = α₀·b·f + α₁·M·n + α₂·b·M + α₃·M + α₄

with batch b, flops f per sample, parameters M, devices n. Times of steps span orders of magnitude,
so errors count relative to the time. A coefficient is never negative: more work never takes less
time, and a model that says so is wrong for what was not measured. If all runs have the same n, α₁·n
and α₃ cannot be told apart: α₃ then has both, and `separate` says so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from joader.errors import BadArgument
from papers.models.runs import Architecture, TrainingRun

Array = NDArray[np.float64]
NAMES = ("b·f", "M·n", "b·M", "M", "1")


def features(runs: Sequence[TrainingRun], architectures: Mapping[str, Architecture]) -> Array:
    """Return one row of formula 6 for each run, without its coefficients."""
    found = []
    for run in runs:
        its = architectures[run.architecture]
        size = float(its.parameters)
        found.append((run.batch * its.flops, size * run.devices, run.batch * size, size, 1.0))
    return np.array(found, dtype=np.float64).reshape(-1, len(NAMES))


@dataclass(frozen=True)
class TrainingRate:
    """The coefficients α₀ … α₄, and whether α₁ and α₃ are known apart."""

    coefficients: tuple[float, ...]
    separate: bool

    def step_s(self, run: TrainingRun, architecture: Architecture) -> float:
        """Return how long a step takes."""
        row = features([run], {run.architecture: architecture})[0]
        return float(row @ np.array(self.coefficients))


def fit(runs: Sequence[TrainingRun], architectures: Mapping[str, Architecture]) -> TrainingRate:
    """Fit formula 6; BadArgument if there are fewer runs than coefficients."""
    if len(runs) < len(NAMES):
        raise BadArgument(f"{len(runs)} training runs are too few to fit; {len(NAMES)} are needed")
    rows = features(runs, architectures)
    times = np.array([run.step_s for run in runs])
    separate = len({run.devices for run in runs}) > 1
    if not separate:
        rows[:, 1] = 0.0
    return TrainingRate(tuple(least_squares(rows, times)), separate)


def least_squares(rows: Array, times: Array) -> Array:
    """Return coefficients ≥ 0 with the least sum of squared relative errors."""
    weighted = rows / times[:, None]
    scale = np.linalg.norm(weighted, axis=0)
    scale[scale == 0.0] = 1.0
    found: Array = _non_negative(weighted / scale, np.ones(len(times))) / scale
    return found


def _non_negative(rows: Array, target: Array) -> Array:
    """Return x ≥ 0 with the least |rows·x − target|, by Lawson and Hanson's active sets."""
    count = rows.shape[1]
    x, active = np.zeros(count), np.zeros(count, dtype=bool)
    for _ in range(10 * count):
        gain = rows.T @ (target - rows @ x)
        gain[active] = -np.inf
        best = int(np.argmax(gain))
        if gain[best] <= 1e-10:
            break
        active[best] = True
        while True:
            found = np.zeros(count)
            found[active] = np.linalg.lstsq(rows[:, active], target, rcond=None)[0]
            below = active & (found <= 0.0)
            if not below.any():
                x = found
                break
            # As far as the first of them that would become negative, which then leaves.
            part = float(np.min(x[below] / (x[below] - found[below])))
            x = x + part * (found - x)
            active &= x > 1e-14
            x[~active] = 0.0
    return x
