"""The two parts of a recipe, as they travel to workers: what jobs share, and what is one job's own.

*Shared*: a row of the dataset, then the steps of `prepare=`; deterministic but for what the dataset
itself does. *Own*: the steps of `transform=`, for one job alone, random or not. Steps are
functions of a sample or the built-in ones of `joader.images`; those draw from a generator that
starts from the key of the job, pass and position.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from random import Random
from typing import Any

from joader.images import Step, Steps
from joader.workers.randomness import start_random_numbers


@dataclass
class SharedPart:
    """A dataset and what is done to every row of it."""

    dataset: Any
    steps: Steps
    worker_init_fn: Callable[[int], None] | None = None
    with_torch: bool = False  # have torch ready for worker_init_fn, as the job had
    worker: dict[str, int] = field(default_factory=dict)  # which one it is in, once it has started

    def start(self, worker: int, workers: int, seed: int) -> None:
        """Get ready in a worker: what torch's loader does in its own."""
        if self.with_torch:
            import_module("torch.utils.data")
        self.worker = {"id": worker, "num_workers": workers, "seed": seed}
        if self.worker_init_fn is not None:
            start_random_numbers(seed)
            self._show_worker()
            try:
                self.worker_init_fn(worker)
            except BaseException as error:
                error.add_note("(raised by worker_init_fn, in the worker process)")
                raise
        self.steps.warm_up()

    def prepare(self, row: int) -> Any:
        """Return the prepared sample of a row."""
        self._show_worker()
        sample = self.dataset[row]
        return self.steps(sample) if self.steps.steps else sample

    def _show_worker(self) -> None:
        """Let torch's get_worker_info() speak of this dataset: a worker may have several."""
        torch: Any = sys.modules.get("torch.utils.data._utils.worker")
        if torch is not None and hasattr(torch, "WorkerInfo"):
            torch._worker_info = torch.WorkerInfo(**self.worker, dataset=self.dataset)


@dataclass(frozen=True)
class OwnPart:
    """What is done to a sample for one job alone."""

    steps: Steps

    @property
    def only_reads(self) -> bool:
        """Whether it never writes to what it is given: built-in steps do not."""
        return all(isinstance(step, Step) for step in self.steps.steps)

    def finish(self, sample: Any, key: int) -> Any:
        """Return the job's own form of a prepared sample."""
        return self.steps(sample, Random(key))
