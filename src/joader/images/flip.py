"""Swaps left and right, with probability p.

Cost of a flip at 224 x 224: 25 µs by torch, if it is loaded, else 0.1 ms by NumPy, channel by
channel (all channels at once, `image[:, ::-1]`, take 0.3 ms).
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from joader.errors import BadArgument
from joader.images import libraries
from joader.images.pixels import Image, pixels, place, put
from joader.images.step import Step
from joader.images.tensors import as_given, planar, tensor_of, uniform


@dataclass(frozen=True)
class RandomHorizontalFlip(Step):
    """Flip an image with probability p."""

    p: float = 0.5

    random: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the probability."""
        if not 0 <= self.p <= 1:
            raise BadArgument(f"p is {self.p!r}; it must be a probability, from 0 to 1")

    def on_image(self, image: Any, rng: Any, out: Any) -> Image:
        """Flip one image, or not."""
        checked = pixels(image, self)
        return flipped(checked, out) if rng.random() < self.p else put(checked, out)

    def on_batch(self, images: Any, generator: Any) -> Any:
        """Flip some of the images."""
        view = planar(images, self)
        chosen = uniform((len(view),), generator, view.device) < self.p
        if view.device.type == "cpu":
            result = view.clone()
            result[chosen] = view[chosen].flip(3)
            return as_given(result)
        return as_given(libraries.torch().where(chosen[:, None, None, None], view.flip(3), view))


def flipped(image: Image, out: Any = None) -> Image:
    """Return the mirror image, in `out` if there is one."""
    torch = libraries.loaded_torch()
    if torch is not None:
        mirror: Image = tensor_of(image, torch).flip(1).numpy()
        return put(mirror, out)
    room: Image = place(out, image.shape)
    for channel in range(3):
        np.copyto(room[:, :, channel], image[:, ::-1, channel])
    return room
