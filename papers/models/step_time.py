"""How long a step takes, operation by operation: ours, beside A-Dloader's formula.

Operations with arithmetic (convolutions, products of matrices) take time for their flops and their
bytes; all others (activations, normalizations, updates) only move bytes:

    device = Σ (F·flops·b + A·bytes + N·b·bytes²/flops + L) + Σ (W·bytes + S)
    step   = max(device, Q·operations) + C

bytes²/flops is large where a layer is narrow: in a convolution it goes by the pixels, whatever the
channels. Kernels work on tiles of many channels, so few of them take nearly as long, which is what
one coefficient for all flops cannot say. A GPU works off what a processor has queued, so a step
takes no less than queueing all of it. The numbers are of the machine, and none of a network.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from joader.errors import BadArgument
from papers.models.runs import Architecture, TrainingRun

Array = NDArray[np.float64]

_LEAST_RUNS = 8
# Steps of the search, in natural logarithms: first by large factors, in the end by 1 %.
_STEPS = (2.0, 1.0, 0.5, 0.25, 0.1, 0.05, 0.02, 0.01)
_MOST_ROUNDS = 200


@dataclass(frozen=True)
class StepTime:
    """What the machine takes, in seconds."""

    flop_s: float  # F
    arithmetic_byte_s: float  # A: per byte of an operation with arithmetic
    narrow_s: float  # N: per byte² and flop of one
    arithmetic_s: float  # L: for one such operation
    byte_s: float  # W: per byte of another
    other_s: float  # S: for one such
    queue_s: float  # Q: to queue one of either
    fixed_s: float  # C: per step

    def step_s(self, run: TrainingRun, architecture: Architecture) -> float:
        """Return how long a step takes."""
        return float(_Work([run], {run.architecture: architecture}).steps_s(self)[0])


class _Work:
    """What the steps of all runs consist of: a try is then a few products."""

    def __init__(
        self, runs: Sequence[TrainingRun], architectures: Mapping[str, Architecture]
    ) -> None:
        rows = [_row(run.batch, architectures[run.architecture]) for run in runs]
        self.parts = np.array(rows)  # of each run, by number of the model but for the last two
        self.operations = self.parts[:, 3] + self.parts[:, 5]

    def steps_s(self, model: StepTime) -> Array:
        """Return how long a step of each run takes."""
        numbers = (
            *(model.flop_s, model.arithmetic_byte_s, model.narrow_s, model.arithmetic_s),
            *(model.byte_s, model.other_s),
        )
        device_s = self.parts @ np.array(numbers)
        found: Array = np.maximum(device_s, model.queue_s * self.operations) + model.fixed_s
        return found


def _row(batch: int, architecture: Architecture) -> tuple[float, ...]:
    """Return flops, bytes, narrowness and number of arithmetic; bytes and number of the rest."""
    found = [0.0] * 6
    for one in architecture.operations:
        size_bytes = one.sample_bytes * batch + one.fixed_bytes
        if one.flops > 0.0:
            # Without what is there whatever the batch is: weights are not narrow.
            narrow = batch * one.sample_bytes**2 / one.flops
            of_each = (batch * one.flops, size_bytes, narrow, 1.0, 0.0, 0.0)
        else:
            of_each = (0.0, 0.0, 0.0, 0.0, size_bytes, 1.0)
        found = [total + one.count * part for total, part in zip(found, of_each, strict=True)]
    return tuple(found)


def fit(runs: Sequence[TrainingRun], architectures: Mapping[str, Architecture]) -> StepTime:
    """Fit it by a search that goes downhill in each number; BadArgument if runs are too few."""
    if len(runs) < _LEAST_RUNS:
        raise BadArgument(f"{len(runs)} training runs are too few to fit; {_LEAST_RUNS} are needed")
    work = _Work(runs, architectures)
    times = np.array([run.step_s for run in runs])

    def error(logs: Array) -> float:
        # In logarithms: twice as long and half as long are equally wrong. Absolute, not squared:
        # some runs are disturbed, and must not drag the others along.
        return float(np.abs(np.log(work.steps_s(_model(logs)) / times)).mean())

    starts = [_start(work, times, part) for part in (0.9, 0.5, 0.1)]
    return _model(min((_downhill(error, start) for start in starts), key=error))


def _model(logs: Array) -> StepTime:
    return StepTime(*np.exp(logs).tolist())


def _start(work: _Work, times: Array, part: float) -> Array:
    """Return numbers with which each kind of work takes so much of the time at most."""
    kinds = [*work.parts.T, work.operations]
    most = [float((times / np.maximum(kind, 1.0)).min()) for kind in kinds]
    return np.log((*(part * one for one in most), 0.01 * float(times.min())))


def _downhill(error: Callable[[Array], float], start: Array) -> Array:
    best, least = start, error(start)
    for step in _STEPS:
        for _ in range(_MOST_ROUNDS):
            tries = [best + sign * step * unit for unit in np.eye(len(best)) for sign in (1, -1)]
            errors = [error(one) for one in tries]
            if min(errors) >= least - 1e-9:
                break
            best, least = tries[int(np.argmin(errors))], min(errors)
    return best
