"""The path for all formats: Pillow, with its errors translated.

Levels are those of `Image.open(...).convert("RGB")`: alpha is dropped, a palette is looked up, CMYK
is converted, and of an animation the first frame is taken. Two modes differ:
- *16-bit gray* (`I;16`): Pillow clips at 255, so that nearly everything becomes white. Here it is
  the high byte, which is also what Pillow makes of 16-bit RGB.
- *32-bit integers and floats* (`I`, `F`, from TIFF): the level of white is unknown, so this is an
  error.
"""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from joader.errors import BadImage, JoaderError
from joader.images import libraries
from joader.images.body import Body
from joader.images.pixels import Image, Shape, place

_STARTS = (b"\xff\xd8\xff", b"\x89PN", b"GIF", b"RIF")  # JPEG, PNG, GIF, WebP
_ORIENTATION = 0x0112  # the EXIF tag
# Without one of these there is no orientation: EXIF in JPEG, PNG, WebP, TIFF; XMP has it as text.
_MARKS = (b"Exif", b"eXIf", b"EXIF", b"II*\0", b"MM\0*", b"Orientation")


def pillow_shape(body: Body) -> Shape:
    """Return height, width and 3, from the header."""
    with _opened(body) as image:
        return (image.height, image.width, 3)


def pillow_pixels(body: Body, out: Any) -> Image:
    """Decode, into a new array or the buffer `out`."""
    with _opened(body) as image:
        levels = _levels(image, body)
        room: Image = place(out, levels.shape)
        np.copyto(room, levels)
        return room


def orientation(body: Body) -> int:
    """Return the orientation as EXIF counts it: 1 (upright) to 8."""
    data = bytes(body.data)
    if not any(mark in data for mark in _MARKS):
        return 1
    with _opened(body) as image:
        found = image.getexif().get(_ORIENTATION, 1)
        return found if found in range(1, 9) else 1


@contextmanager
def _opened(body: Body) -> Iterator[Any]:
    """Open with Pillow; whatever is wrong with the bytes becomes a `BadImage`."""
    pillow = libraries.pillow()
    try:
        with pillow.open(io.BytesIO(body.data)) as image:
            yield image
    except (JoaderError, MemoryError):
        raise
    except Exception as error:  # its decoders raise nearly anything on broken bytes
        raise BadImage(f"{body} cannot be decoded: {_reason(error, body)}") from error


def _levels(image: Any, body: Body) -> Image:
    if image.mode.startswith("I;16") or (image.mode == "I" and image.format == "PNG"):
        high = (np.asarray(image) >> 8).astype(np.uint8)
        return np.broadcast_to(high[:, :, None], (*high.shape, 3))
    if image.mode in ("I", "F"):
        raise BadImage(
            f"{body} has 32-bit levels (mode {image.mode!r}), and the level of white is unknown; "
            "save it with 8 or 16 bits"
        )
    if image.mode == "P":
        # It changes no pixel, but Pillow would warn about a common case: PNG palettes with alpha.
        image.info.pop("transparency", None)
    return np.asarray(image.convert("RGB"))


def _reason(error: Exception, body: Body) -> str:
    name = type(error).__name__
    again = "download the file again, or leave it out"
    if name.startswith("DecompressionBomb"):
        return f"{error} If you trust it, raise PIL.Image.MAX_IMAGE_PIXELS in the dataset's module"
    if not body.data:
        return f"it is empty; {again}"
    if name == "UnidentifiedImageError" and bytes(body.data[:3]) not in _STARTS:
        start = bytes(body.data[:8]).hex(" ")
        return f"it begins with {start}, unlike any format that Pillow knows; {again}"
    if name == "UnidentifiedImageError":  # its message names an object of ours, which is no help
        error = ValueError("its header is invalid")
    return f"{error or name}; it is truncated or damaged: {again}"
