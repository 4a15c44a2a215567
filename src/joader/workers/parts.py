"""The two parts of a recipe, as they travel to workers: what jobs share, and what is one job's own.

*Shared*: a row of the dataset, then the steps of `prepare=`; deterministic but for what the dataset
itself does. *Own*: the steps of `transform=`, for one job alone, random or not. Steps are
functions of a sample or the built-in ones of `joader.images`; those draw from a generator that
starts from the key of the job, pass and position.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from joader.images import Steps


@dataclass(frozen=True)
class SharedPart:
    """A dataset and what is done to every row of it."""

    dataset: Any
    steps: Steps
    worker_init_fn: Callable[[int], None] | None = None

    def start(self, worker: int, workers: int, seed: int) -> None:
        """Get ready in a worker: what torch's loader does in its own."""
        data: Any = sys.modules.get("torch.utils.data._utils.worker")
        if data is not None:
            data._worker_info = data.WorkerInfo(
                id=worker, num_workers=workers, seed=seed, dataset=self.dataset
            )
        if self.worker_init_fn is not None:
            self.worker_init_fn(worker)
        self.steps.warm_up()

    def prepare(self, row: int) -> Any:
        """Return the prepared sample of a row."""
        sample = self.dataset[row]
        return self.steps(sample) if self.steps.steps else sample


@dataclass(frozen=True)
class OwnPart:
    """What is done to a sample for one job alone."""

    steps: Steps

    def finish(self, sample: Any, key: int) -> Any:
        """Return the job's own form of a prepared sample."""
        return self.steps(sample, Random(key))
