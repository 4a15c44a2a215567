"""The two parts of a recipe, as workers run them: the part that jobs share, and a job's own part.

*Shared*: a row of the dataset, then the steps of `prepare=`; deterministic except for the dataset's
own code. *Own*: the steps of `transform=`, for one job alone, random or not. Steps are functions of
a sample or the built-in ones of `joader.images`; the latter draw from a generator that is seeded
with the key of the job, pass and position.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from math import prod
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from joader.images import Step, Steps
from joader.recipe.randomness import start_random_numbers
from joader.storage import Storage


@dataclass
class SharedPart:
    """A dataset and the shared steps for every row of it."""

    dataset: Any
    steps: Steps
    worker_init_fn: Callable[[int], None] | None = None
    with_torch: bool = False  # import torch before worker_init_fn, because the job has imported it
    worker: dict[str, int] = field(default_factory=dict)  # which one it is in, once it has started

    @cached_property
    def deterministic(self) -> bool:
        """Whether it is known to give the same result each time, as storages and our steps do."""
        stored = isinstance(self.dataset, Storage) and self.dataset.deterministic
        return stored and self.worker_init_fn is None and not self.steps.random

    @cached_property
    def reads_many(self) -> bool:
        """Whether rows that come together are read together; slow reads have begun before."""
        return self.deterministic and not self.dataset.slow

    @property
    def reads_apart(self) -> bool:
        """Whether rows are read apart from their preparation, so they can be kept as stored."""
        stored = isinstance(self.dataset, Storage) and self.dataset.deterministic
        return stored and self.worker_init_fn is None and bool(self.steps.steps)

    @property
    def waits(self) -> bool:
        """Whether reads wait for a network, and are begun ahead of the preparation."""
        return isinstance(self.dataset, Storage) and self.dataset.slow

    def read(self, rows: Sequence[int]) -> list[Any]:
        """Read many rows together, without preparing them."""
        return list(self.dataset.__getitems__(rows))

    def expect(self, row: int) -> None:
        """Begin to read a row that will be prepared soon, if reads wait for a network."""
        if isinstance(self.dataset, Storage):
            self.dataset.expect(row)

    def read_at_once(self, reads: int) -> None:
        """Keep up to `at_once` reads under way, of rows that will be prepared soon."""
        if isinstance(self.dataset, Storage):
            self.dataset.read_at_once(reads)

    def start(self, worker: int, workers: int, seed: int) -> None:
        """Set up the worker as torch's loader does: worker info, seeds, `worker_init_fn`."""
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

    def prepare(
        self,
        row: int,
        slot: NDArray[np.uint8] | None = None,
        begins: Callable[[int], None] | None = None,
    ) -> Any:
        """Return the prepared sample of a row; its image is at the start of the slot if possible.

        It is if the image is the first part of the sample and only built-in steps are used, since
        they know its shape in advance. `begins` is called with the number of each step.
        """
        return self.made_of(self.row(row), slot, begins)

    def row(self, row: int) -> Any:
        """Read a row, without preparing it."""
        self._show_worker()
        return self.dataset[row]

    def made_of(
        self,
        sample: Any,
        slot: NDArray[np.uint8] | None = None,
        begins: Callable[[int], None] | None = None,
    ) -> Any:
        """Return the prepared sample of a row that was already read."""
        if not self.steps.steps:
            return sample
        if slot is None or not self._may_lie_in_slot or isinstance(sample, dict):
            return self.steps(sample, None, None, begins)
        if begins is not None:
            begins(0)
        shape = self._fixed_shape
        first, *others = self.steps.steps
        if shape is None and isinstance(first, Step):
            sample, shape = first.header_read(sample)
            if shape is not None and others:
                shape = Steps(others).shape(shape)
        room = None if shape is None or prod(shape) > slot.size else slot[: prod(shape)]
        return self.steps(sample, None, room, begins)

    @cached_property
    def _may_lie_in_slot(self) -> bool:
        return self.steps.built_in and self.steps.dtype == "uint8"

    @cached_property
    def _fixed_shape(self) -> tuple[int, ...] | None:
        return self.steps.shape()

    def _show_worker(self) -> None:
        """Make torch's get_worker_info() describe this dataset: a worker may have several."""
        torch: Any = sys.modules.get("torch.utils.data._utils.worker")
        if torch is not None and hasattr(torch, "WorkerInfo") and self.worker:
            torch._worker_info = torch.WorkerInfo(**self.worker, dataset=self.dataset)


@dataclass(frozen=True)
class OwnPart:
    """The steps that a single job applies to its samples."""

    steps: Steps

    @cached_property
    def built_in(self) -> bool:
        """Whether all of it is built in: it never writes to its input, and ends soon."""
        return self.steps.built_in

    def finish(self, sample: Any, key: int, begins: Callable[[int], None] | None = None) -> Any:
        """Return the job's own form of a prepared sample; `begins` gets each step's number."""
        return self.steps(sample, Random(key), None, begins)


def step_names(part: SharedPart | OwnPart) -> list[bytes]:
    """Return the names of its steps in messages."""
    where = "prepare" if isinstance(part, SharedPart) else "transform"
    return [f"{where}: {_name(step)}".encode()[:110] for step in part.steps.steps]


def _name(step: Any) -> str:
    return repr(step) if isinstance(step, Step | Steps) else getattr(step, "__qualname__", "")
