"""Changes brightness, contrast, saturation and hue at random, in a random order.

Distribution, as torchvision's: each factor is uniform in [max(0, 1 - x), 1 + x] (hue: in [-x, x])
or in the range given, and the order of the operations is uniform, drawn for each image.
Cost at 224 x 224 in a worker: 0.7 ms for all four, most of it for hue.

A batch on a CPU is changed image by image: all at once its planes would not fit into the CPU cache.
On a GPU all images are changed at once: the blends before the hue, the hue, the blends after it.
Each image takes part when its order says so; a factor of 1 leaves it as it is.
Not here: the formulas (colors.py).
"""

from dataclasses import dataclass
from random import Random
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from joader.errors import BadArgument
from joader.images import libraries
from joader.images.colors import HUE, OPERATIONS, change, change_each
from joader.images.pixels import Image, pixels, place
from joader.images.step import Step
from joader.images.tensors import as_given, constant, planar, tensor_of, uniform

Range: TypeAlias = tuple[float, float]


@dataclass(frozen=True)
class ColorJitter(Step):
    """Change brightness, contrast, saturation and hue, each by a number or a range (low, high)."""

    brightness: float | Range | None = None
    contrast: float | Range | None = None
    saturation: float | Range | None = None
    hue: float | Range | None = None

    random: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Turn numbers into ranges and check them."""
        for name in OPERATIONS:
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

    def draw_batch(self, count: int, generator: Any, device: Any) -> tuple[Any, Any]:
        """Draw for many images: operations in their order, and factors; one row per image."""
        torch = libraries.torch()
        ranges = self.ranges
        lows, spans = (
            constant(tuple(values), torch.float32, device)
            for values in ((low for low, _ in ranges.values()), (b - a for a, b in ranges.values()))
        )
        order = uniform((count, len(ranges)), generator, device).argsort(1)
        factors = uniform((count, len(ranges)), generator, device) * spans + lows
        return constant(tuple(ranges), torch.long, device)[order], factors.gather(1, order)

    def on_image(self, image: Any, rng: Any, out: Any) -> Image:
        """Change one image."""
        checked = pixels(image, self)
        room: Image = place(out, checked.shape)
        _change_levels(checked, self.draw(rng), room)
        return room

    def on_batch(self, images: Any, generator: Any) -> Any:
        """Change all images."""
        view = planar(images, self)
        operations, factors = self.draw_batch(len(view), generator, view.device)
        if view.device.type == "cpu":
            return _one_by_one(images, operations, factors)
        return as_given(_all_at_once(view, operations, factors, HUE in self.ranges)).contiguous()


def _change_levels(image: Image, operations: Any, room: Image) -> None:
    planes = np.ascontiguousarray(image.astype(np.float32).transpose(2, 0, 1))
    for operation, factor in operations:
        change(planes, operation, factor, whole=True)
    for channel, plane in enumerate(planes.astype(np.uint8)):
        np.copyto(room[:, :, channel], plane)  # all at once takes three times as long


def _one_by_one(images: Any, operations: Any, factors: Any) -> Any:
    """Change the images of a batch on a CPU."""
    torch = libraries.torch()
    results = torch.empty_like(images, memory_format=torch.contiguous_format)
    for number, (order, each) in enumerate(zip(operations.tolist(), factors.tolist(), strict=True)):
        image, result = images[number], results[number]
        drawn = zip(order, each, strict=True)
        if images.dtype == torch.uint8:
            _change_levels(image.numpy(), drawn, result.numpy())
            continue
        planes: NDArray[np.float32] = image.detach().float().numpy().copy()
        for operation, factor in drawn:
            change(planes, operation, factor, whole=False)
        result.copy_(tensor_of(planes, torch))
    return results


def _all_at_once(view: Any, operations: Any, factors: Any, has_hue: bool) -> Any:
    """Change N x 3 x height x width images by whole-batch operations, for a GPU."""
    torch = libraries.torch()
    whole = not view.is_floating_point()
    kind = torch.float32 if whole else view.dtype
    planes = view.transpose(0, 1).to(kind, memory_format=torch.contiguous_format, copy=True)
    for each, factor in _rounds(operations, factors.to(kind), has_hue):
        change_each(torch, planes, each, factor, whole)
    return planes.transpose(0, 1).to(view.dtype)


def _rounds(operations: Any, factors: Any, has_hue: bool) -> list[tuple[Any, Any]]:
    """Return rounds for a whole batch: operations (None: hue for all) and factors, by image."""
    torch = libraries.torch()
    if not has_hue:
        return list(zip(operations.unbind(1), factors.unbind(1), strict=True))
    places = torch.arange(operations.shape[1], device=operations.device)
    hue_place = (operations == HUE).long().argmax(1, keepdim=True)
    before = torch.where(places < hue_place, factors, 1.0)
    after = torch.where(places > hue_place, factors, 1.0)
    return [
        *zip(operations[:, :-1].unbind(1), before[:, :-1].unbind(1), strict=True),
        (None, factors.gather(1, hue_place)[:, 0]),
        *zip(operations[:, 1:].unbind(1), after[:, 1:].unbind(1), strict=True),
    ]


def _range(name: str, value: Any) -> Range | None:
    """Return the range of a factor; None if it never changes anything."""
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
            f"or a range (low, high), so that they lie between {least} and {most}"
        )
    return None if low == high == middle else (float(low), float(high))
