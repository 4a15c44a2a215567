"""Bytes to pixels: JPEG, PNG, WebP and all else that Pillow reads, as uint8 RGB.

Cost: about 1.2 ms for a JPEG of 500 x 375, nearly all in the decoder; 5 µs for its header. The
result is that of `PIL.Image.open(...).convert("RGB")`, bit for bit, except in two rare modes (see
below). So the EXIF orientation is *not* applied unless asked for, as in torchvision's `ImageFolder`
today; applying it to an image that has one costs a copy.

The fast path is for JPEG: simplejpeg, if its result equals Pillow's bit for bit. It declines
(returns None) on anything unusual: CMYK, sizes that Pillow warns about, any doubt of the decoder
(truncated, damaged, not a JPEG). So Pillow alone decides what is an error and what is tolerated.

The path for everything else is Pillow, with its errors translated. Alpha is dropped, palettes are
looked up, CMYK is converted, and of an animation the first frame is taken. Two modes differ from
`convert("RGB")`:
- *16-bit gray* (`I;16`): Pillow clips at 255, so that nearly everything becomes white. Here the
  level is the high byte, which is also what Pillow makes of 16-bit RGB.
- *32-bit integers and floats* (`I`, `F`, from TIFF): the level of white is unknown, so this is an
  error.

Not here: where the bytes come from (body.py).
"""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from joader.errors import BadImage, JoaderError
from joader.images import libraries
from joader.images.body import Body, body_of
from joader.images.pixels import Image, Shape, place, put
from joader.images.sample import image_of, with_image
from joader.images.step import Step


@dataclass(frozen=True)
class Decode(Step):
    """Decode bytes, a one-dimensional uint8 array, or the file at a path to an image."""

    apply_exif_orientation: bool = False

    libraries: ClassVar[tuple[str, ...]] = ("simplejpeg", "PIL.Image")

    def shape(self, shape: Shape | None) -> Shape | None:
        """Return None: it differs from image to image; `image_shape` reads it from the header."""
        return None

    def header_read(self, sample: Any) -> tuple[Any, Shape | None]:
        """Return the sample with its image as a body, and the shape it will have."""
        sample = with_image(sample, body_of(image_of(sample)))
        exif = self.apply_exif_orientation
        return sample, image_shape(image_of(sample), apply_exif_orientation=exif)

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
    """Open with Pillow; any error about the bytes becomes a `BadImage`."""
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
    if name == "UnidentifiedImageError":  # its message names an object of ours, which does not help
        error = ValueError("its header is invalid")
    return f"{error or name}; it is truncated or damaged: {again}"
