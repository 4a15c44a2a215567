"""Bytes to pixels: JPEG, PNG, WebP and whatever else Pillow reads, as uint8 RGB.

Cost: about 1.2 ms for a JPEG of 500 x 375, nearly all in the decoder; 5 µs for its header. The
result is that of `PIL.Image.open(...).convert("RGB")`, bit for bit (two rare modes differ:
pillow.py). So the EXIF orientation is *not* applied unless asked for, as in torchvision's
`ImageFolder` today; applying it to an image that has one costs a copy.
Not here: the two decoders (jpeg.py, pillow.py), where the bytes come from (body.py).
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from joader.images.body import body_of
from joader.images.jpeg import jpeg_pixels, jpeg_shape
from joader.images.pillow import orientation, pillow_pixels, pillow_shape
from joader.images.pixels import Image, Shape, put
from joader.images.step import Step


@dataclass(frozen=True)
class Decode(Step):
    """Decode bytes, a one-dimensional uint8 array, or the file at a path to an image."""

    apply_exif_orientation: bool = False

    libraries: ClassVar[tuple[str, ...]] = ("simplejpeg", "PIL.Image")

    def shape(self, shape: Shape | None) -> Shape | None:
        """Return None: it differs from image to image; `image_shape` reads it from the header."""
        return None

    def on_image(self, image: Any, rng: Any, out: Any) -> Image:
        """Decode one image."""
        return decode(image, out, apply_exif_orientation=self.apply_exif_orientation)


def decode(image: Any, out: Any = None, *, apply_exif_orientation: bool = False) -> Image:
    """Decode an image into a new array, or into the first bytes of the buffer `out`."""
    body = body_of(image)
    turn = orientation(body) if apply_exif_orientation else 1
    where = out if turn == 1 else None
    decoded = jpeg_pixels(body, where)
    if decoded is None:
        decoded = pillow_pixels(body, where)
    return decoded if turn == 1 else put(_turned(decoded, turn), out)


def decode_into(image: Any, out: Any, *, apply_exif_orientation: bool = False) -> Image:
    """Decode an image straight into a writable buffer and return it as an array on that memory.

    The buffer must have at least as many bytes as `image_shape` says; a JPEG is written there by
    the decoder itself. After a `BadImage` the content of the buffer is undefined.
    """
    return decode(image, memoryview(out), apply_exif_orientation=apply_exif_orientation)


def image_shape(image: Any, *, apply_exif_orientation: bool = False) -> Shape:
    """Return (height, width, 3) of an encoded image, from its header."""
    body = body_of(image)
    shape = jpeg_shape(body) or pillow_shape(body)
    if apply_exif_orientation and orientation(body) >= 5:
        return (shape[1], shape[0], 3)
    return shape


def _turned(image: Image, turn: int) -> Image:
    """Undo an EXIF orientation: from 5 on swap rows and columns; then mirror in both directions."""
    if turn >= 5:
        image = image.transpose(1, 0, 2)
    down = -1 if turn in (3, 4, 7, 8) else 1
    right = -1 if turn in (2, 3, 6, 7) else 1
    return np.ascontiguousarray(image[::down, ::right])
