"""Resizes one image: bilinear with antialiasing, equal to Pillow's BILINEAR within one level.

By torch if it is installed, else by Pillow; libraries.py says why.
"""

import numpy as np

from joader.images import libraries
from joader.images.pixels import Image
from joader.images.tensors import tensor_of


def resized(image: Image, height: int, width: int) -> Image:
    """Return an image of this size; `image` may be a view of part of another."""
    # torch would copy a part itself, but with several threads, which stall on a busy machine.
    whole = np.ascontiguousarray(image)
    if whole.shape[:2] == (height, width):
        return whole
    torch = libraries.torch()
    if torch is None:
        pillow = libraries.pillow()
        small = pillow.fromarray(whole).resize((width, height), pillow.Resampling.BILINEAR)
        return np.array(small)
    # With this view torch sees channels last, its fast case, and its result is in the same order.
    view = tensor_of(whole, torch)[None].permute(0, 3, 1, 2)
    interpolate = torch.nn.functional.interpolate
    result = interpolate(view, (height, width), mode="bilinear", antialias=True)
    return np.ascontiguousarray(result[0].permute(1, 2, 0).numpy())
