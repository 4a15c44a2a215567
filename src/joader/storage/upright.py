"""Photos of Hugging Face datasets the right way up: as the library itself returns them.

`datasets` rotates an image by its EXIF orientation when it decodes one; torchvision's folders,
which `Decode()` follows, do not. So such an image is rotated here, and becomes a PPM (a 16-bit one
a PNG), without loss. All others, nearly all, are returned as they are stored; to find out, the
metadata of each file is searched (some 20 µs).
"""

import io
import json
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from joader.storage.arrow_values import Taker
from joader.storage.packages import needed

_ORIENTATION = 0x0112  # the EXIF tag
# Without one of these there is no orientation: EXIF in JPEG, PNG, WebP, TIFF; XMP has it as text.
_MARKS = (b"Exif", b"eXIf", b"EXIF", b"II*\0", b"MM\0*", b"Orientation")
_SCAN = 0xDA  # the marker of a JPEG after which the pixels come
_PIXELS = (b"IDAT", b"fdAT", b"VP8 ", b"VP8L", b"ALPH", b"ANMF")  # chunks of PNG and WebP


def photo_columns(features: Mapping[str, Any] | None) -> frozenset[str]:
    """Return which columns the library would decode as images, by its features."""
    found = (features or {}).items()
    return frozenset(
        name
        for name, one in found
        if type(one).__name__ == "Image" and getattr(one, "decode", True)
    )


def saved_photo_columns(schema: Any) -> frozenset[str]:
    """Return the same for an Arrow file: the library writes its features into the schema."""
    try:
        told = json.loads((schema.metadata or {}).get(b"huggingface", b"{}"))
        features = told["info"]["features"].items()
        return frozenset(
            name for name, one in features if one["_type"] == "Image" and one.get("decode", True)
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return frozenset()


def upright_taker(take: Taker) -> Taker:
    """Return a taker of the same images, rotated."""
    return Taker(
        lambda places: [upright(body) for body in take.many(places)],
        lambda place: upright(take.one(place)),
    )


def upright(body: Any) -> Any:
    """Return an upright image as it is, and any other rotated and re-encoded."""
    if type(body) is not bytes:
        return body
    told = _without_pixels(body)
    if not any(mark in told for mark in _MARKS):
        return body
    pillow = needed("PIL.Image", "an image with an EXIF orientation", "images")
    try:
        with pillow.open(io.BytesIO(body)) as image:
            if image.format == "PNG":
                image.load()  # its EXIF may come after the pixels
            if image.getexif().get(_ORIENTATION) not in range(2, 9):
                return body
            turned = needed("PIL.ImageOps", "images", "images").exif_transpose(image)
            return _encoded(turned) or body
    except (OSError, ValueError, SyntaxError, EOFError):
        return body  # the decoder will say what is wrong with it


def _encoded(image: Any) -> bytes | None:
    """Return an image in a format that is quick to write and to read; None: there is none."""
    if image.mode == "F":
        return None
    file = io.BytesIO()
    if image.mode.startswith("I"):
        image.save(file, "PNG", compress_level=1)
        return file.getvalue()
    image.info.pop("transparency", None)  # Pillow would warn of it; no pixel of RGB has it
    rgb = image if image.mode in ("RGB", "L") else image.convert("RGB")
    rgb.save(file, "PPM")
    return file.getvalue()


def _without_pixels(body: bytes) -> bytes:
    """Return the metadata of an image file; all of it if the format is not known here.

    Searching the pixels, too, would take longer than reading them.
    """
    if body.startswith(b"\xff\xd8"):
        at = 2
        while at + 4 <= len(body) and body[at] == 0xFF and body[at + 1] != _SCAN:
            at += 2 + int.from_bytes(body[at + 2 : at + 4], "big")
        return body[:at]
    if body.startswith(b"\x89PNG\r\n\x1a\n"):
        return _chunks(body, 8, _Form(name_at=4, size_at=0, order="big", around=12, even=False))
    if body.startswith(b"RIFF") and body[8:12] == b"WEBP":
        return _chunks(body, 12, _Form(name_at=0, size_at=4, order="little", around=8, even=True))
    return body


class _Form(NamedTuple):
    """How chunks lie in a file."""

    name_at: int
    size_at: int
    order: Literal["big", "little"]
    around: int  # bytes of a chunk in addition to its content
    even: bool  # whether content is filled up to an even length


def _chunks(body: bytes, at: int, form: _Form) -> bytes:
    """Return the chunks, from an offset on, that hold no pixels."""
    found = []
    while at + 8 <= len(body):
        name = body[at + form.name_at : at + form.name_at + 4]
        size = int.from_bytes(body[at + form.size_at : at + form.size_at + 4], form.order)
        end = at + form.around + size + (size % 2 if form.even else 0)
        if name not in _PIXELS:
            found.append(body[at:end])
        at = end
    return b"".join(found)
