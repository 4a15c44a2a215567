"""The image between two steps: a uint8 array of height x width x 3, C-contiguous.

It may be a read-only view of shared memory: no step writes to its input. A result is in the `out`
that the caller gave; else it is a new array, or the input itself if there was nothing to do.
"""

from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from joader.errors import BadArgument

Image: TypeAlias = NDArray[np.uint8]
Shape: TypeAlias = tuple[int, ...]


def pixels(image: Any, who: object) -> Image:
    """Return the image as step `who` may use it, or raise an error that describes it."""
    if isinstance(image, np.ndarray) and image.dtype == np.uint8 and image.ndim == 3:
        height, width, channels = image.shape
        if channels == 3 and height and width:
            return np.ascontiguousarray(image)
    raise BadArgument(
        f"{who} takes an image as a uint8 array of height x width x 3 but got {described(image)}; "
        "put Decode() before it, or make such an array"
    )


def described(value: Any) -> str:
    """Describe a value in a few words."""
    kind = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    return kind if shape is None else f"a {kind} of {dtype} and shape {tuple(shape)}"


def place(out: Any, shape: Shape, dtype: type[np.generic] = np.uint8) -> NDArray[Any]:
    """Return an array of this shape: a new one, or the first bytes of the buffer `out`."""
    if out is None:
        return np.empty(shape, dtype)
    size = prod(shape) * (1 if dtype is np.uint8 else np.dtype(dtype).itemsize)
    try:
        is_flat = type(out) is np.ndarray and out.ndim == 1 and out.dtype == np.uint8
        room = out if is_flat and out.flags.c_contiguous else np.frombuffer(out, np.uint8)
    except (TypeError, ValueError, BufferError) as error:
        raise BadArgument(
            f"out is {described(out)}, which is not one writable block of memory: {error}; "
            "give a C-contiguous buffer"
        ) from error
    if not room.flags.writeable or room.size < size:
        is_wrong = "read-only" if not room.flags.writeable else f"of {room.size} bytes"
        raise BadArgument(
            f"out is {is_wrong}; an image of shape {shape} needs {size} writable bytes"
        )
    items = room[:size]
    return (items if dtype is np.uint8 else items.view(dtype)).reshape(shape)


def put(image: NDArray[Any], out: Any) -> NDArray[Any]:
    """Return the image, in `out` if the caller gave one."""
    if out is None:
        return image
    room = place(out, image.shape, image.dtype.type)
    np.copyto(room, image)
    return room
