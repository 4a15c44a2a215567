"""What every step is: a value that turns one image into another.

A step has arguments and no state. It is callable on one sample, with its randomness given:
`step(sample)` or, if `step.random`, `step(sample, rng)`. `out` is the buffer for the resulting
image. `step.batch(images)` does the same to a batch of torch tensors, on any device, each image
with its own randomness.

The layout depends on the type, in batches and (without N) in samples: **uint8 is N x height x width
x 3**, levels from 0 to 255, as samples are gathered; **floating is N x 3 x height x width**, as
models want it. `ToTensor` converts from the first to the second.
Not here: sequences of steps (steps.py), where the image is in a sample (sample.py).
"""

from random import Random
from typing import Any, ClassVar

from joader.errors import BadArgument
from joader.images.pixels import Shape
from joader.images.sample import image_of, with_image


class Step:
    """The common base of all steps; each implements `on_image` and `on_batch`."""

    random: ClassVar[bool] = False  # if not, the same input gives the same output: it can be shared
    dtype: ClassVar[str] = "uint8"  # of the image that comes out
    libraries: ClassVar[tuple[str, ...]] = ()  # what its first use may import

    def __call__(self, sample: Any, rng: Random | None = None, out: Any = None) -> Any:
        """Return the sample with its image processed, in the buffer `out` if there is one."""
        if self.random and rng is None:
            raise BadArgument(
                f"{self} draws at random but was given no generator; "
                "call it as step(sample, random.Random(seed))"
            )
        return with_image(sample, self.on_image(image_of(sample), rng, out))

    def batch(self, batch: Any, generator: Any = None) -> Any:
        """Return the batch with its images processed, each with its own randomness.

        `generator` is a torch.Generator of any device; without one torch's default is used.
        """
        return with_image(batch, self.on_batch(image_of(batch), generator))

    def shape(self, shape: Shape | None) -> Shape | None:
        """Return the shape of the output image from that of the input; None: unknown."""
        return shape

    def header_read(self, sample: Any) -> tuple[Any, Shape | None]:
        """Return the sample, and the shape of its output image if the input has it in a header.

        What was read for it stays in the sample, so that the step does not read it again.
        """
        return sample, None

    def on_image(self, image: Any, rng: Any, out: Any) -> Any:
        """Process one image."""
        raise NotImplementedError

    def on_batch(self, images: Any, generator: Any) -> Any:
        """Process a batch of images."""
        raise BadArgument(f"{self} has no batch form; use it on samples, in the workers")
