"""The fast road for JPEG: simplejpeg, where it gives what Pillow gives, to the bit.

It declines (returns None), and Pillow decides, on all that is not plain: CMYK, sizes that Pillow
warns of, any doubt of the decoder (cut off, damaged, not a JPEG). So what is an error and what is
forgiven is always as in Pillow.
"""

from typing import Any

from joader.images import libraries
from joader.images.body import Body
from joader.images.pixels import Image, Shape, place

# Above this Pillow speaks of a decompression bomb (PIL.Image.MAX_IMAGE_PIXELS, unless changed).
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
    except (ValueError, KeyError):  # KeyError: a way of storing colours that it has no name for
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
