"""Bilinear resize with antialiasing: Pillow's BILINEAR, within one level.

Cost from 500 x 375 to 256 x 256: 0.26 ms by torch, 1.4 ms by Pillow; libraries.py says which.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from joader.errors import BadArgument, BadImage
from joader.images.bilinear import resized
from joader.images.pixels import Image, Shape, pixels, put
from joader.images.resampling import resampled
from joader.images.step import Step
from joader.images.tensors import as_given, planar

# Scaling the shorter side of a thin strip makes it arbitrarily large. This is where Pillow refuses
# to decode.
_MOST_PIXELS = 178_956_970


@dataclass(frozen=True)
class Resize(Step):
    """Resize to a height and a width, without keeping the proportions."""

    height: int
    width: int = 0  # has to be given

    libraries: ClassVar[tuple[str, ...]] = ("torch", "PIL.Image")

    def __post_init__(self) -> None:
        """Check the sizes; torchvision's one number would keep the proportions."""
        if self.width == 0 and isinstance(self.height, int) and self.height > 0:
            size = self.height
            raise BadArgument(
                f"Resize({size}) has no width; use ShorterSide({size}), which keeps the "
                f"proportions, or Resize({size}, {size}), which does not"
            )
        if self.width == 0 and isinstance(self.height, Sequence):
            raise BadArgument(
                f"height is {self.height!r}; give height and width as two numbers: Resize(224, 224)"
            )
        check_size(self, self.height, self.width)

    def shape(self, shape: Shape | None) -> Shape:
        """Return the requested size."""
        return (self.height, self.width, 3)

    def on_image(self, image: Any, rng: Any, out: Any) -> Image:
        """Resize one image."""
        return put(resized(pixels(image, self), self.height, self.width), out)

    def on_batch(self, images: Any, generator: Any) -> Any:
        """Resize all images."""
        return as_given(resampled(planar(images, self), None, (self.height, self.width)))


@dataclass(frozen=True)
class ShorterSide(Step):
    """Resize so that the shorter side has this many pixels and the proportions stay."""

    size: int

    libraries: ClassVar[tuple[str, ...]] = ("torch", "PIL.Image")

    def __post_init__(self) -> None:
        """Check the size."""
        check_size(self, self.size)

    def shape(self, shape: Shape | None) -> Shape | None:
        """Return the new size, if the old one is known."""
        return None if shape is None else (*self._scaled(*shape[:2]), 3)

    def on_image(self, image: Any, rng: Any, out: Any) -> Image:
        """Resize one image."""
        checked = pixels(image, self)
        return put(resized(checked, *self._scaled(*checked.shape[:2])), out)

    def on_batch(self, images: Any, generator: Any) -> Any:
        """Resize all images."""
        view = planar(images, self)
        return as_given(resampled(view, None, self._scaled(*view.shape[2:])))

    def _scaled(self, height: int, width: int) -> tuple[int, int]:
        # The longer side is truncated, not rounded, as in torchvision.
        longer = int(self.size * max(height, width) / min(height, width))
        if longer * self.size > _MOST_PIXELS:
            raise BadImage(
                f"{self} of an image of {height} x {width} pixels would make {longer * self.size:,}"
                f", more than {_MOST_PIXELS:,}; leave it out, or crop it first"
            )
        return (self.size, longer) if height <= width else (longer, self.size)


def check_size(who: object, *sizes: object) -> None:
    """Refuse sizes that are not positive integers."""
    for size in sizes:
        if not isinstance(size, int) or size < 1:
            raise BadArgument(f"{who} has the size {size!r}; sizes must be integers of at least 1")
