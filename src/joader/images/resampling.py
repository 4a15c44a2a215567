"""Many crops of a batch, each resized to one size: bilinear, antialiased, on any device.

On a CPU levels are resized crop by crop (0.15 ms, torch's own kernel). On a GPU that would take
many launches per image; there all crops are two batched matrix products, one along the height and
one along the width. A row of such a matrix holds the weights of one pixel of the result: a triangle
around its center, as wide as the crop is shrunk, zero outside the crop. 224 of 256 pixels cost
165 MFLOP per image, which a GPU does in microseconds.

There uint8 goes through half precision: levels are exact in it, products are summed in single
precision, and the error in the weights stays below half a level. Results differ from torch's and
Pillow's, which round between the two directions, by one level at most.
Floats go this way on a CPU too: torch's own resize of them is wrong for a width of 1 (2.13).
Not here: which crops (random_crop.py).
"""

from typing import Any

import numpy as np

from joader.images import libraries
from joader.images.bilinear import resized


def resampled(images: Any, boxes: Any, size: tuple[int, int]) -> Any:
    """Return N x 3 x size of the crops (top, left, height, width) in the N rows of `boxes`.

    `images` is N x 3 x height x width; without boxes the whole of each image is taken.
    """
    if boxes is None and images.shape[2:] == size:
        return images.clone()
    if images.device.type == "cpu" and not images.is_floating_point():
        return _one_by_one(images.permute(0, 2, 3, 1), boxes, size)
    return _by_products(images, boxes, size)


def _one_by_one(images: Any, boxes: Any, size: tuple[int, int]) -> Any:
    results = images.new_empty((len(images), *size, 3))
    whole = (0, 0, *images.shape[1:3])
    parts = [whole] * len(images) if boxes is None else boxes.tolist()
    for image, (top, left, height, width), result in zip(
        images.numpy(), parts, results.numpy(), strict=True
    ):
        np.copyto(result, resized(image[top : top + height, left : left + width], *size))
    return results.permute(0, 3, 1, 2)


def _by_products(images: Any, boxes: Any, size: tuple[int, int]) -> Any:
    torch = libraries.torch()
    count, _, height, width = images.shape
    if boxes is None:
        boxes = torch.tensor([(0, 0, height, width)], device=images.device).expand(count, 4)
    exact = images.is_floating_point()
    kind = images.dtype if exact else torch.float16
    tops, lefts, heights, widths = boxes.unbind(1)
    down = triangles(tops, heights, height, size[0]).to(kind)
    right = triangles(lefts, widths, width, size[1]).to(kind)
    # uint8 comes with channels last: rows of width x 3 need no reordering for the first product.
    rows = images.permute(0, 2, 3, 1).to(kind).reshape(count, height, width * 3)
    low = torch.bmm(down, rows).view(count, size[0], width, 3).permute(0, 3, 1, 2)
    low = low.reshape(count, 3 * size[0], width)
    small = torch.bmm(low, right.transpose(1, 2)).view(count, 3, *size)
    return small if exact else small.round_().clamp_(0, 255).to(torch.uint8)


def triangles(starts: Any, lengths: Any, source: int, target: int) -> Any:
    """Return N x target x source weights: rows sum to 1, zero outside [start, start + length)."""
    torch = libraries.torch()
    device = starts.device
    scale = (lengths.to(torch.float32) / target)[:, None, None]
    centres = (torch.arange(target, device=device) + 0.5)[None, :, None] * scale
    place = torch.arange(source, device=device)[None, None, :] - starts[:, None, None]
    weights = (1 - (place + 0.5 - centres).abs() / scale.clamp(min=1)).clamp_(min=0)
    weights = weights * ((place >= 0) & (place < lengths[:, None, None]))
    return weights / weights.sum(2, keepdim=True)
