"""Brightness, contrast, saturation and hue, changed at random in a random order.

Distribution, as torchvision's: each factor is uniform in [max(0, 1 - x), 1 + x] (hue: in [-x, x])
or in the range given, and the operations come in an order uniform over all, drawn for each image.
Cost at 224 x 224 in a worker: about COST ms for all four.

A batch does the orders of all images at once: the blends before the hue, the hue, the blends after
it. Each image takes part in those that its order asks for; a factor of 1 leaves it as it is.
"""

from dataclasses import dataclass
from random import Random
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from joader.errors import BadArgument
from joader.images import libraries
from joader.images.colors import blend, grey, turn_hue
from joader.images.pixels import Image, pixels, place
from joader.images.step import Step
from joader.images.tensors import as_given, planar, uniform

Range: TypeAlias = tuple[float, float]
BRIGHTNESS, CONTRAST, SATURATION, HUE = range(4)
_NAMES = ("brightness", "contrast", "saturation", "hue")


@dataclass(frozen=True)
class ColorJitter(Step):
    """Change brightness, contrast, saturation and hue, by a number or a range (low, high) each."""

    brightness: float | Range | None = None
    contrast: float | Range | None = None
    saturation: float | Range | None = None
    hue: float | Range | None = None

    random: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Turn numbers into ranges and check them."""
        for name in _NAMES:
            object.__setattr__(self, name, _range(name, getattr(self, name)))

    @property
    def ranges(self) -> dict[int, Range]:
        """The range of each operation that changes anything."""
        found = (self.brightness, self.contrast, self.saturation, self.hue)
        return {number: each for number, each in enumerate(found) if isinstance(each, tuple)}

    def draw(self, rng: Random) -> list[tuple[int, float]]:
        """Draw the operations for one image, in their order, each with its factor."""
        ranges = self.ranges
        order = rng.sample(list(ranges), len(ranges))
        return [(operation, rng.uniform(*ranges[operation])) for operation in order]

    def on_image(self, image: Any, rng: Any, out: Any) -> Image:
        """Change one image."""
        checked = pixels(image, self)
        planes = np.ascontiguousarray(checked.astype(np.float32).transpose(2, 0, 1))
        for operation, factor in self.draw(rng):
            _change(planes, operation, factor)
        room: Image = place(out, checked.shape)
        for channel, plane in enumerate(planes.astype(np.uint8)):
            np.copyto(room[:, :, channel], plane)  # all at once takes three times as long
        return room

    def on_batch(self, images: Any, generator: Any) -> Any:
        """Change all images."""
        torch = libraries.torch()
        view = planar(images, self)
        whole = not view.is_floating_point()
        dtype = torch.float32 if whole else view.dtype
        planes = view.transpose(0, 1).to(dtype, memory_format=torch.contiguous_format, copy=True)
        for operations, factors in self._rounds(view, generator):
            _change_each(torch, planes, operations, factors.to(dtype), whole)
        return as_given(planes.transpose(0, 1).to(view.dtype)).contiguous()

    def _rounds(self, view: Any, generator: Any) -> list[tuple[Any, Any]]:
        """Draw for a batch: rounds of an operation (None: hue) and a factor for each image."""
        torch = libraries.torch()
        ranges, count = self.ranges, view.shape[0]
        names = list(ranges)
        order = uniform((count, len(names)), generator, view.device).argsort(1)
        lows = order.new_tensor([ranges[name][0] for name in names], dtype=torch.float32)
        highs = order.new_tensor([ranges[name][1] for name in names], dtype=torch.float32)
        drawn = uniform((count, len(names)), generator, view.device) * (highs - lows) + lows
        operations = order.new_tensor(names)[order]
        factors = drawn.gather(1, order)
        if HUE not in ranges:
            return list(zip(operations.unbind(1), factors.unbind(1), strict=True))
        places = torch.arange(len(names), device=view.device)
        hue_place = (operations == HUE).long().argmax(1, keepdim=True)
        before = torch.where(places < hue_place, factors, 1.0)[:, :-1]
        after = torch.where(places > hue_place, factors, 1.0)[:, 1:]
        turns = factors.gather(1, hue_place)[:, 0]
        return [
            *zip(operations[:, :-1].unbind(1), before.unbind(1), strict=True),
            (None, turns),
            *zip(operations[:, 1:].unbind(1), after.unbind(1), strict=True),
        ]


def _change(planes: NDArray[np.float32], operation: int, factor: float) -> None:
    """Apply one operation to one image of levels."""
    if operation == HUE:
        turn_hue(np, planes, factor, 255, whole=True)
        return
    reference: Any = 0
    if operation != BRIGHTNESS:
        reference = grey(np, planes, whole=True)
    if operation == CONTRAST:
        reference = float(reference.mean(dtype=np.float64))
    blend(np, planes, reference, factor, 255, whole=True)


def _change_each(torch: Any, planes: Any, operations: Any, factors: Any, whole: bool) -> None:
    """Apply to each image of a batch its operation of one round."""
    bound = 255 if whole else 1
    factors = factors[:, None, None]
    if operations is None:
        turn_hue(torch, planes, factors, bound, whole)
        return
    operations = operations[:, None, None]
    level = grey(torch, planes, whole)
    reference = torch.where(operations == CONTRAST, level.mean((1, 2), keepdim=True), level)
    reference *= operations != BRIGHTNESS
    blend(torch, planes, reference, factors, bound, whole)


def _range(name: str, value: Any) -> Range | None:
    """Return the range of a factor; None where it is always the one that changes nothing."""
    middle, least, most = (0.0, -0.5, 0.5) if name == "hue" else (1.0, 0.0, float("inf"))
    if value is None:
        return None
    if isinstance(value, int | float):
        low, high = middle - value, middle + value
        if value >= 0 and name != "hue":
            low = max(0.0, low)
    else:
        low, high = (float(each) for each in value)
    if not least <= low <= high <= most:
        raise BadArgument(
            f"{name}={value!r} gives factors from {low} to {high}; give a number of at least 0, "
            f"or a range (low, high), so that they lie from {least} to {most}"
        )
    return None if low == high == middle else (float(low), float(high))
