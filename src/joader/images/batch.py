"""Several steps on a whole batch, in the client: for `DataLoader(batch_transform=Batch([...]))`.

The images of a batch are a torch tensor on any device (step.py describes the layout), alone, first
in a tuple or list, or under the key "image"; labels pass through. Randomness comes from torch's own
generator, which `torch.manual_seed` seeds, or from one that is passed in.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from joader.errors import BadArgument
from joader.images.step import Step
from joader.images.steps import AnyStep, Steps


@dataclass(frozen=True)
class Batch:
    """Steps in their order, applied to a batch; a function among them gets the whole batch."""

    steps: Sequence[AnyStep]

    def __post_init__(self) -> None:
        """Keep a tuple, so that it cannot be changed."""
        object.__setattr__(self, "steps", tuple(self.steps))
        for step in self.steps:
            if not callable(step):
                raise BadArgument(
                    f"{step!r} cannot be called; a step must be a function of a batch"
                )

    def __call__(self, batch: Any, generator: Any = None) -> Any:
        """Return the batch with its images processed."""
        for step in self.steps:
            if isinstance(step, Step):
                batch = step.batch(batch, generator)
            elif isinstance(step, Steps):
                batch = Batch(step.steps)(batch, generator)
            else:
                batch = step(batch)
        return batch
