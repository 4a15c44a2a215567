"""The fast path for JPEG: simplejpeg, whenever its result equals Pillow's bit for bit.

It declines (returns None), and Pillow decides, on anything unusual: CMYK, sizes that Pillow warns
about, any doubt of the decoder (truncated, damaged, not a JPEG). So Pillow alone decides what is an
error and what is tolerated.
"""

from typing import Any

from joader.images import libraries
from joader.images.body import Body
from joader.images.pixels import Image, Shape, place

# Above this Pillow warns of a decompression bomb (PIL.Image.MAX_IMAGE_PIXELS, unless changed).
_PLAIN_PIXELS = 89_478_485
_PLAIN_COLORS = ("YCbCr", "Gray", "RGB")


def jpeg_shape(body: Body) -> Shape | None:
    """Return height, width and 3 of a plain JPEG, from its header."""
    if body.jpeg is None:
        body.jpeg = (_read_shape(body),)
    return body.jpeg[0]


def _read_shape(body: Body) -> Shape | None:
    simplejpeg = libraries.simplejpeg()
    if simplejpeg is None or bytes(body.data[:3]) != b"\xff\xd8\xff":
        return None
    try:
        height, width, colors, _ = simplejpeg.decode_jpeg_header(body.data)
    except (ValueError, KeyError):  # KeyError: a color space that it has no name for
        return None
    plain = colors in _PLAIN_COLORS and 0 < height * width <= _PLAIN_PIXELS
    return (height, width, 3) if plain else None


def jpeg_pixels(body: Body, out: Any) -> Image | None:
    """Decode a plain JPEG, straight into the buffer `out` if there is one."""
    shape = jpeg_shape(body)
    if shape is None:
        return None
    room = place(out, shape)
    try:
        libraries.simplejpeg().decode_jpeg(body.data, "RGB", buffer=room)
    except ValueError:
        return None
    return room
