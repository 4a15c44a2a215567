"""Color formulas, for one image in NumPy or a batch in torch.

`planes` is an array of floats with the channels first: 3 x height x width, or for a batch
3 x N x height x width; functions change it in place. Levels go from 0 to `bound` (255 or 1). With
`whole` they are whole numbers, and results are truncated, as torchvision does for uint8.
A factor is a number, or for a batch an array that broadcasts to N x height x width.

`xp` is numpy or torch: only names that mean the same in both are used.
"""

from typing import Any

import numpy as np

OPERATIONS = ("brightness", "contrast", "saturation", "hue")
BRIGHTNESS, CONTRAST, SATURATION, HUE = range(4)

# ITU-R 601, rounded as torchvision rounds it.
_RED, _GREEN, _BLUE = 0.2989, 0.587, 0.114


def grey(xp: Any, planes: Any, whole: bool) -> Any:
    """Return the brightness of each pixel; `planes` is not changed."""
    level = planes[0] * _RED
    level += planes[1] * _GREEN
    level += planes[2] * _BLUE
    return xp.floor(level, out=level) if whole else level


def blend(xp: Any, planes: Any, reference: Any, factor: Any, bound: float, whole: bool) -> None:
    """Set factor x image + (1 - factor) x reference, within the bounds.

    The reference is black for brightness, the mean of `grey` for contrast, `grey` for saturation.
    """
    planes *= factor
    planes += reference * (1 - factor)
    xp.clip(planes, 0, bound, out=planes)
    if whole:
        xp.floor(planes, out=planes)


def turn_hue(xp: Any, planes: Any, turn: Any, bound: float, whole: bool) -> None:
    """Rotate the colors by a fraction of the circle, from -0.5 to 0.5.

    In HSV, with the hue in sixths of the circle from 0 (red) to 6: a channel is its lowest level
    plus the chroma times a trapezoid of the hue, which is 1 around the channel's own color.
    """
    hue, low, chroma = _hue(xp, planes)
    hue += turn * 6
    hue -= xp.floor(hue / 6) * 6
    for channel, (peak, sign, offset) in enumerate(((3, 1, -1), (2, -1, 2), (4, -1, 2))):
        share = hue - peak
        xp.abs(share, out=share)
        share *= sign
        share += offset
        xp.clip(share, 0, 1, out=share)
        share *= chroma
        share += low
        planes[channel] = share
    if whole:
        # Just enough to keep a whole number that came out slightly too small from being truncated.
        planes *= (bound + 1 - 1e-3) / bound
        xp.floor(planes, out=planes)


def change(planes: Any, operation: int, factor: float, whole: bool) -> None:
    """Apply one operation to one image, in NumPy."""
    bound = 255 if whole else 1
    if operation == HUE:
        turn_hue(np, planes, factor, bound, whole)
        return
    reference: Any = 0
    if operation != BRIGHTNESS:
        reference = grey(np, planes, whole)
    if operation == CONTRAST:
        reference = float(reference.mean(dtype=np.float64))
    blend(np, planes, reference, factor, bound, whole)


def change_each(torch: Any, planes: Any, operations: Any, factors: Any, whole: bool) -> None:
    """Apply to each image of a batch its operation (None: the hue of all) with its factor."""
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


def _hue(xp: Any, planes: Any) -> tuple[Any, Any, Any]:
    """Return hue in sixths, lowest channel, and chroma (highest less lowest).

    Sorts the channels instead of asking which is the highest: a choice by mask takes ten times as
    long as a maximum. `start` is where on the circle the difference of the two lower ones counts
    from: 0 or 6 for red, 2 for green, 4 for blue.
    """
    red, green, blue = planes
    upper, lower = xp.maximum(green, blue), xp.minimum(green, blue)
    start = xp.asarray(green < blue, dtype=red.dtype)  # 1 if blue was above green
    swapped = xp.asarray(red < upper, dtype=red.dtype)  # 1 if red is not the highest
    value, middle = xp.maximum(red, upper), xp.minimum(red, upper)
    low = xp.minimum(middle, lower)
    chroma = value - low
    middle -= lower
    middle /= xp.clip(chroma, 1e-6, None)  # 0 for gray, with any divisor
    middle += swapped * (start * 12 - 2) - start * 6
    return xp.abs(middle, out=middle), low, chroma
