"""The rows of one tar in WebDataset's layout, found once and kept for the next time.

`dir/key.jpg` and `dir/key.cls` are one row with the columns `jpg` and `cls`: the key ends at the
first dot of the file's name. Members without a dot, or named `__like_this__`, are not rows.

An index is kept in the cache folder, one file per tar, named after its place. It is valid while the
tar's size and time of change (in an object store: its tag) are the same; otherwise it is rebuilt.
A million members take some 12 s to find and 0.1 s to load.
"""

import json
import os
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from joader.config import cache_folder
from joader.errors import BadData
from joader.storage.names import Names
from joader.storage.places import Files
from joader.storage.tar_members import members

FORM = 1  # of the files of indexes
MISSING = -1  # the size of a member that a row does not have

# Times of change have the resolution of the kernel's clock, up to 10 ms: a tar that has just
# changed may change again and keep its time. So it is checked again once that cannot happen.
SETTLED_NS = 50_000_000

Places: TypeAlias = npt.NDArray[np.int64]  # first byte and size, by row


@dataclass(frozen=True, eq=False)
class TarIndex:
    """Keys of rows, and for each column where their members lie."""

    keys: Names
    columns: Mapping[str, Places]


def indexed(files: Files, name: str, size: int, stamp: str | int) -> TarIndex:
    """Return the index of a tar, from the cache folder if it has not changed since."""
    path = files.path(name)
    label = [FORM, os.path.realpath(path) if files.where.startswith("/") else path, size, stamp]
    file = cache_folder() / f"tar-{blake2b(str(label[1]).encode(), digest_size=12).hexdigest()}"
    index = _loaded(file, label)
    if index is None:
        if isinstance(stamp, int) and 0 <= time.time_ns() - stamp < SETTLED_NS:
            time.sleep(SETTLED_NS / 1e9)
            label[2:] = size, _ = files.stamps([name])[0]
        index = _found(files, name, size)
        with suppress(OSError):  # a full or read-only folder only costs time
            _save(file, label, index)
    return index


def _found(files: Files, name: str, size: int) -> TarIndex:
    rows: dict[bytes, int] = {}
    columns: dict[bytes, dict[int, tuple[int, int]]] = {}
    for member, start, length in members(files, name, size):
        folder, slash, base = member.rpartition(b"/")
        stem, dot, extension = base.partition(b".")
        if not dot or not stem or (stem.startswith(b"__") and stem.endswith(b"__")):
            continue
        row = rows.setdefault(folder + slash + stem, len(rows))
        places = columns.setdefault(extension.lower(), {})
        if row in places:
            raise BadData(
                f"{files.path(name)} has two members {os.fsdecode(member)!r}; give each sample its "
                "own key"
            )
        places[row] = (start, length)
    arrays = {os.fsdecode(extension): _array(at, len(rows)) for extension, at in columns.items()}
    return TarIndex(Names.of(rows), arrays)


def _array(places: Mapping[int, tuple[int, int]], length: int) -> Places:
    array = np.full((length, 2), MISSING, np.int64)
    array[np.fromiter(places, np.int64, len(places))] = np.array(list(places.values()), np.int64)
    return array


def _save(file: Path, label: list[Any], index: TarIndex) -> None:
    """Write an index so that no reader ever sees half of one."""
    head = [label, len(index.keys), len(index.keys.blob), list(index.columns)]
    with tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as out:
        try:
            out.write(json.dumps(head).encode() + b"\n")
            out.write(index.keys.ends.tobytes())
            for places in index.columns.values():
                out.write(places.tobytes())
            out.write(index.keys.blob)
            out.flush()
            os.replace(out.name, file)
        except BaseException:
            os.unlink(out.name)
            raise


def _loaded(file: Path, label: list[Any]) -> TarIndex | None:
    """Return the index in a file, or None if there is none for this tar as it is now."""
    try:
        body = file.read_bytes()
        line, _, arrays = body.partition(b"\n")
        told, rows, blob_bytes, columns = json.loads(line)
    except (OSError, ValueError):
        return None
    if told != label or len(arrays) != 8 * rows * (1 + 2 * len(columns)) + blob_bytes:
        return None
    numbers = np.frombuffer(arrays, np.int64, rows * (1 + 2 * len(columns)))
    pairs = numbers[rows:].reshape(len(columns), rows, 2)
    ends = numbers[:rows]
    return TarIndex(
        Names(arrays[len(arrays) - blob_bytes :], ends), dict(zip(columns, pairs, strict=True))
    )
