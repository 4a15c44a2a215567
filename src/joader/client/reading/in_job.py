"""Rows that the job reads by itself, in its own process: as torch's loader without workers does.

For a loader with `num_workers=0` (what others have prepared is taken, the rest is read here), for
rows that fail only because they are prepared in another process, and for a job without a daemon.
Samples stay the objects they are: nothing is packed or pickled, so `breakpoint()`, CUDA and state
that a dataset keeps work as with torch.

Random numbers: user code draws from the job's own generators, as it does with torch. Only under
`order="seeded"`, and if the job stands in for its workers (`as_worker`), they start from the key
of pass and position, and the job's own are left as they were.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from secrets import randbits
from typing import Any

import numpy as np

from joader.memory import pack, read
from joader.recipe.parts import OwnPart, SharedPart, step_names
from joader.recipe.randomness import kept_random_numbers, start_random_numbers
from joader.workers.desk import LOADING, READING


class InJob:
    """A recipe's parts, run in the job."""

    def __init__(self, shared: SharedPart, own: OwnPart, *, keyed: bool, as_worker: bool) -> None:
        """`keyed`: random numbers start from keys; `as_worker`: user code sees a worker."""
        self._shared = replace(shared, worker={}, worker_init_fn=None)
        if as_worker:
            self._shared.worker_init_fn = shared.worker_init_fn
        self._own = own
        self._keyed = keyed or as_worker
        self._as_worker = as_worker
        self._started = not as_worker
        self.at = READING.decode()  # which step of the user's code it is in
        self._begins = self._noting(self._shared), self._noting(own)

    @property
    def takes_keys(self) -> bool:
        """Whether it makes a difference what key a sample is made with."""
        return self._keyed or bool(self._own.steps.steps)

    def undisturbed(self) -> AbstractContextManager[None]:
        """Leave the job's random numbers as they are, if rows have their own."""
        return kept_random_numbers() if self._keyed else nullcontext()

    def sample(self, row: int, key: int) -> Any:
        """Return the job's sample of a row."""
        if not self._started:
            self.at = LOADING.decode()
            self._shared.start(worker=0, workers=1, seed=randbits(63))
            self._started = True
        self.at = READING.decode()
        if self._keyed:
            start_random_numbers(key)
        sample = self._shared.prepare(row, None, self._begins[0])
        if not self._own.steps.steps:
            return sample
        # On a copy: what the own part edits in place may belong to the dataset.
        return self.finished(own_copy(sample), key)

    def finished(self, sample: Any, key: int) -> Any:
        """Return the job's own form of a sample that others have prepared."""
        if not self._own.steps.steps:
            return sample
        if self._keyed:
            start_random_numbers(key)
        return self._own.finish(sample, key, self._begins[1])

    def _noting(self, part: SharedPart | OwnPart) -> Callable[[int], None] | None:
        """Return who is to be told of each step of a part, if it has any."""
        names = [name.decode(errors="replace") for name in step_names(part)]

        def note(number: int) -> None:
            self.at = names[number]

        return note if names else None


def own_copy(sample: Any) -> Any:
    """Return a sample in memory of its own, made as one that comes from a worker."""
    packed = pack(sample)
    slot = np.zeros(max(1, packed.layout.size_bytes), np.uint8)
    packed.write(slot)
    return read(packed.layout, slot, allow_pickle=True)
