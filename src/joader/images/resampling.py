"""Many crops of a batch, each resized to one size: bilinear, antialiased, on any device.

On a CPU each crop is resized by itself (0.15 ms, torch's own kernel). On a GPU that would be many
launches an image; there all crops are two batched matrix products, one along the height and one
along the width. A row of such a matrix holds the weights of one pixel of the result: a triangle
around its centre, as wide as the crop is shrunk, zero outside the crop. 224 of 256 pixels cost
165 MFLOP an image, which a GPU does in microseconds.

uint8 goes through half precision there: levels are exact in it, products are summed in single, and
what is lost in the weights stays below half a level. Results differ from torch's and Pillow's,
which round between the two directions, by one level at most.
Not here: which crops (random_crop.py).
"""

from typing import Any

from joader.images import libraries


def resampled(images: Any, boxes: Any, size: tuple[int, int]) -> Any:
    """Return N x 3 x size of the crops (top, left, height, width) in the N rows of `boxes`.

    `images` is N x 3 x height x width; without boxes all of each image is taken.
    """
    torch = libraries.torch()
    if boxes is None and images.shape[2:] == size:
        return images.clone()
    if images.device.type == "cpu":
        return _one_by_one(images, boxes, size, torch)
    if boxes is None:
        whole = torch.tensor([0, 0, *images.shape[2:]], device=images.device)
        boxes = whole.expand(len(images), 4)
    return _by_products(images, boxes, size, torch)


def _one_by_one(images: Any, boxes: Any, size: tuple[int, int], torch: Any) -> Any:
    interpolate = torch.nn.functional.interpolate
    if boxes is None:
        return interpolate(images, size, mode="bilinear", antialias=True)
    if images.is_floating_point():
        results = images.new_empty((len(images), 3, *size))
    else:
        results = images.new_empty((len(images), *size, 3)).permute(0, 3, 1, 2)
    for number, (top, left, height, width) in enumerate(boxes.tolist()):
        crop = images[number : number + 1, :, top : top + height, left : left + width]
        results[number] = interpolate(crop, size, mode="bilinear", antialias=True)[0]
    return results


def _by_products(images: Any, boxes: Any, size: tuple[int, int], torch: Any) -> Any:
    count, _, height, width = images.shape
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
