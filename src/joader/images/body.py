"""The bytes of an image file, from a sample's bytes of any kind, or from a path."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from joader.errors import BadArgument
from joader.images.pixels import Shape, described
from joader.storage.origins import origin


@dataclass(slots=True)
class Body:
    """An encoded image, the path it was read from, if any, and what its header said, if read."""

    data: memoryview
    path: str | None = None
    jpeg: tuple[Shape | None] | None = None  # None: not looked at; else the shape, if it is plain

    def __str__(self) -> str:
        """Describe the image for a message, with the path its bytes came from if it is known."""
        path = self.path if self.path is not None else origin(self.data.obj)
        named = f" in {path}" if path is not None else ""
        return f"the image of {len(self.data):,} bytes{named}"


def body_of(image: Any) -> Body:
    """Return the bytes of an encoded image, without a copy; a path is read."""
    if isinstance(image, Body):
        return image
    if type(image) is bytes:  # the usual case; testing for a path takes longer
        return Body(memoryview(image))
    if isinstance(image, str | os.PathLike):
        path = Path(image)
        return Body(memoryview(path.read_bytes()), str(path))
    if isinstance(image, np.ndarray) and (image.dtype != np.uint8 or image.ndim != 1):
        raise BadArgument(
            f"Decode() got {described(image)}; an encoded image is a one-dimensional uint8 array; "
            "an image that is already decoded needs no Decode()"
        )
    try:
        view = memoryview(image)
    except TypeError as error:
        raise BadArgument(
            f"Decode() got {described(image)}; give bytes, bytearray, memoryview, a path, or a "
            "one-dimensional uint8 array"
        ) from error
    return Body(view.cast("B") if view.c_contiguous else memoryview(view.tobytes()))
