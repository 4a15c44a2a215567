"""Steps and collating in one function, for whoever makes another loader out of a joader one.

Accelerate, ignite and Hugging Face's Trainer take `.dataset`, `.batch_sampler` and `.collate_fn` of
a loader and make a torch loader of them. What joader would do in its workers must not be lost then:
the function that such a loader calls does it first.
"""

import random
from collections.abc import Callable
from typing import Any

from joader.images import Steps
from joader.recipe.parts import OwnPart


class StepsFirst:
    """A `collate_fn` that prepares and transforms samples before it collates them."""

    def __init__(
        self,
        prepare: Steps,
        transform: Steps,
        collate: Callable[[Any], Any],
        batch_transform: Callable[[Any], Any] | None,
        singly: bool,
    ) -> None:
        """Do these in order; `singly`: what comes is one sample, not a list of them."""
        self._prepare, self._own = prepare, OwnPart(transform)
        self._collate, self._batch_transform = collate, batch_transform
        self._singly = singly

    def __call__(self, samples: Any) -> Any:
        """Return the batch of samples as the dataset gives them."""
        done = [self._done(samples)] if self._singly else [self._done(sample) for sample in samples]
        batch = self._collate(done[0] if self._singly else done)
        return self._batch_transform(batch) if self._batch_transform else batch

    def _done(self, sample: Any) -> Any:
        if self._prepare.steps:
            sample = self._prepare(sample, None, None, None)
        if self._own.steps.steps:
            # From Python's generator, which torch seeds in each of its workers.
            sample = self._own.finish(sample, random.getrandbits(63))
        return sample
