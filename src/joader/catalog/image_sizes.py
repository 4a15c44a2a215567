"""Widths and heights of images, from their headers: only the beginning of a file is read."""

from collections.abc import Sequence
from typing import Any

from joader.errors import BadArgument, BadImage
from joader.images import image_shape
from joader.storage import FileList, Storage
from joader.storage.storage import Rows

WIDTH, HEIGHT = "width", "height"
# Enough for the header of most photos; those with a preview before it are read whole.
_HEAD_BYTES = 1 << 15
_AT_ONCE = 256  # images in memory


def image_sizes(storage: Storage, rows: Rows, column: str) -> dict[str, list[int | None]]:
    """Return width and height of the image in a column of each row; None if it is not an image."""
    found: list[tuple[int, int] | None] = []
    for start in range(0, len(rows), _AT_ONCE):
        part = rows[start : start + _AT_ONCE]
        if isinstance(storage, FileList):
            found += _of_files(storage, part)
        else:
            found += [_size(body) for body in storage.read(part, [column])[column]]
    return {
        WIDTH: [size and size[1] for size in found],
        HEIGHT: [size and size[0] for size in found],
    }


def _of_files(storage: FileList, rows: Rows) -> list[tuple[int, int] | None]:
    names = storage.names.take(rows)
    lengths = [int(size) for size, _ in storage.files.stamps(names, missing_ok=True)]
    # A missing file has no bytes, and is not opened.
    parts = [
        (name, 0, min(size, _HEAD_BYTES)) for name, size in zip(names, lengths, strict=True) if size
    ]
    heads = iter(storage.files.read_parts(parts))
    sizes = [_size(next(heads)) if length else None for length in lengths]
    again = [
        at
        for at, (size, length) in enumerate(zip(sizes, lengths, strict=True))
        if size is None and length > _HEAD_BYTES
    ]
    whole: Sequence[Any] = storage.files.read_whole([names[at] for at in again])
    for at, body in zip(again, whole, strict=True):
        sizes[at] = _size(body)
    return sizes


def _size(body: Any) -> tuple[int, int] | None:
    try:
        shape = image_shape(body)
    except (BadImage, BadArgument):
        return None
    return int(shape[0]), int(shape[1])
