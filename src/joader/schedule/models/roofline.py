"""How long a step takes, operation by operation: ours, beside A-Dloader's formula.

Operations with arithmetic (convolutions, products of matrices) take time for their flops and their
bytes; all others (activations, normalizations, updates) only move bytes; none is done in no time:

    device = Σ max(F·flops·b + A·(bytes·b + fixed), L) + Σ max(W·(bytes·b + fixed), S)
    step   = max(device, Q·operations) + C

A GPU works off what a processor has queued, so a step takes no less than queueing all of it. The
same flops cost more in narrow layers, which is what one coefficient for all flops cannot say. The
seven numbers are of the machine, and none of a network.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from joader.errors import BadArgument
from joader.schedule.models.runs import Architecture, TrainingRun

Array = NDArray[np.float64]

_LEAST_RUNS = 7
# Steps of the search, in natural logarithms: first by large factors, in the end by 1 %.
_STEPS = (2.0, 1.0, 0.5, 0.25, 0.1, 0.05, 0.02, 0.01)
_MOST_ROUNDS = 200


@dataclass(frozen=True)
class Roofline:
    """What the machine takes, in seconds."""

    flop_s: float  # F
    arithmetic_byte_s: float  # A: per byte of an operation with arithmetic
    arithmetic_s: float  # L: for one such operation, at least
    byte_s: float  # W: per byte of another
    other_s: float  # S: for one such, at least
    queue_s: float  # Q: to queue one of either
    fixed_s: float  # C: per step

    def step_s(self, run: TrainingRun, architecture: Architecture) -> float:
        """Return how long a step takes."""
        return float(_Work([run], {run.architecture: architecture}).steps_s(self)[0])


class _Work:
    """The operations of all runs in one array each, so that a try costs little."""

    def __init__(
        self, runs: Sequence[TrainingRun], architectures: Mapping[str, Architecture]
    ) -> None:
        tables = [_table(architectures[run.architecture]) for run in runs]
        lengths = [table.shape[1] for table in tables]
        batches = np.repeat([float(run.batch) for run in runs], lengths)
        self.count, flops, sample_bytes, fixed_bytes = np.concatenate(tables, axis=1)
        self.flops = flops * batches
        self.size_bytes = sample_bytes * batches + fixed_bytes
        self._begins = np.cumsum([0, *lengths[:-1]])
        self.operations = self.per_run(np.ones_like(self.flops))

    def steps_s(self, model: Roofline) -> Array:
        """Return how long a step of each run takes."""
        work_s = self.flops * model.flop_s + self.size_bytes * model.arithmetic_byte_s
        moved_s = self.size_bytes * model.byte_s
        each_s = np.where(
            self.flops > 0.0,
            np.maximum(work_s, model.arithmetic_s),
            np.maximum(moved_s, model.other_s),
        )
        queue_s = model.queue_s * self.operations
        return np.maximum(self.per_run(each_s), queue_s) + model.fixed_s

    def per_run(self, of_each: Array) -> Array:
        """Return the sum over all operations of each run."""
        found: Array = np.add.reduceat(self.count * of_each, self._begins)
        return found


def fit(runs: Sequence[TrainingRun], architectures: Mapping[str, Architecture]) -> Roofline:
    """Fit it by a search that goes downhill in each number; BadArgument if runs are too few."""
    if len(runs) < _LEAST_RUNS:
        raise BadArgument(f"{len(runs)} training runs are too few to fit; {_LEAST_RUNS} are needed")
    work = _Work(runs, architectures)
    times = np.array([run.step_s for run in runs])

    def error(logs: Array) -> float:
        # In logarithms: twice as long and half as long are equally wrong. Absolute, not squared:
        # some runs are disturbed, and must not drag the others along.
        return float(np.abs(np.log(work.steps_s(Roofline(*np.exp(logs))) / times)).mean())

    starts = [_start(work, times, part) for part in (0.9, 0.5, 0.1)]
    return Roofline(*np.exp(min((_downhill(error, start) for start in starts), key=error)))


def _start(work: _Work, times: Array, part: float) -> Array:
    """Return numbers with which each kind of work takes so much of the time at most."""
    kinds = (work.flops, work.size_bytes, np.ones_like(work.flops))
    most = [float((times / np.maximum(work.per_run(kind), 1.0)).min()) for kind in kinds]
    flop_s, byte_s, operation_s = (part * one for one in most)
    both = (flop_s, byte_s, operation_s, byte_s, operation_s)
    return np.log((*both, operation_s, 0.01 * float(times.min())))


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


def _table(architecture: Architecture) -> Array:
    rows = [(o.count, o.flops, o.sample_bytes, o.fixed_bytes) for o in architecture.operations]
    return np.array(rows, dtype=np.float64).T
