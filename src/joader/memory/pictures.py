"""PIL images taken apart and put together without loss: pixels, palette in its own mode, info.

Pillow's own pickle state turns an RGBA palette into RGB; this one does not. An opened file
(`JpegImageFile`) becomes the plain `Image` that it holds.
Cost: two copies on each side instead of one, since Pillow hands out its pixels only as new bytes.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from joader.memory.extras import loaded, needed

# Modes whose raw bytes reproduce the image, tested one by one. Others travel as objects.
_MODES = frozenset(
    ("1", "L", "LA", "La", "P", "PA", "RGB", "RGBA", "RGBa", "RGBX", "CMYK", "YCbCr", "LAB", "HSV")
) | {"I", "F", "I;16", "I;16L", "I;16B"}


def is_picture(value: object) -> bool:
    """Return whether a value is an image of one of PIL's own classes, in a mode known here."""
    pil = loaded("PIL.Image")
    if pil is None or not isinstance(value, pil.Image):
        return False
    return type(value).__module__.startswith("PIL.") and value.mode in _MODES


def take_apart(image: Any) -> tuple[tuple[str, str, str, str], bytes, bytes, dict[Any, Any]]:
    """Return (mode, width, height, mode of the palette), pixels, palette, info."""
    pixels = image.tobytes()  # loads the image first, which may change the rest
    palette = image.getpalette(None) if image.mode in ("P", "PA") else None
    palette_mode = image.palette.mode if palette is not None else ""
    names = (image.mode, str(image.width), str(image.height), palette_mode)
    return names, pixels, bytes(palette or b""), dict(image.info)


def put_together(
    names: tuple[str, ...], pixels: NDArray[np.uint8], palette: bytes, info: dict[Any, Any]
) -> Any:
    """Return the image; `pixels` are copied."""
    mode, width, height, palette_mode = names
    pil = needed("PIL.Image", "images")
    image = pil.new(mode, (int(width), int(height)))
    image.frombytes(pixels.data)
    if palette_mode:
        image.putpalette(palette, palette_mode)
        image.load()  # applies the palette; after `info` is set it would apply transparency, too
    image.info = info
    return image
