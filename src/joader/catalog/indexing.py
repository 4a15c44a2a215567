"""From a storage to the columns of a row table: everything cheap to keep, never the data itself.

Numbers, short strings, times and dates go into the row table, with the size of files; bytes, arrays
and long strings stay where they are. The work is done in chunks. Finished chunks are kept in a
folder named after what is indexed, so that an interrupted run resumes where it stopped.
"""

import os
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from joader.catalog.blocks import arrow, read_block, write_block
from joader.catalog.image_sizes import image_sizes
from joader.catalog.progress import shown
from joader.errors import BadArgument, BadData
from joader.storage import FileList, Storage
from joader.storage.places import change_number

CHUNK_ROWS = 1 << 16
# Strings longer than this on average are data, not something to select rows by.
SHORT_TEXT = 256
_LOOKED_AT = 64  # rows, to see what a column holds
SIZE = "size"
CHANGE = "__change__"  # of a file; not shown
ROW = "__row__"
HIDDEN = frozenset([CHANGE, ROW])


def row_columns(storage: Storage, named: Sequence[str] | None) -> dict[str, str]:
    """Return which of a storage's columns go into the row table, with their types."""
    reserved = HIDDEN.intersection(storage.columns)
    if reserved:
        raise BadArgument(
            f"a column is called {min(reserved)!r}, which joader reserves for itself; rename it"
        )
    names = list(storage.columns) if named is None else list(storage._known(named))
    kinds = {name: storage.columns[name] or _time_kind(storage, name) for name in names}
    if named is None:
        names = [name for name in names if _is_cheap(storage, name, kinds[name])]
    for name in names:
        if kinds[name] in ("bytes", None):
            raise BadArgument(
                f"index names {name!r}, which holds {kinds[name] or 'objects'}; the row table can "
                "hold only numbers, strings, times and dates"
            )
    columns = {name: str(kinds[name]) for name in names}
    if isinstance(storage, FileList):
        columns[SIZE] = "int64"
    return columns


def index(storage: Storage, columns: dict[str, str], folder: Path, measured: str = "") -> Any:
    """Return the row table's part for all rows of a storage, as an Arrow table.

    `measured` names a column of images whose widths and heights are included.
    """
    work = folder / f"work-{_digest(storage, columns)}"
    work.mkdir(mode=0o700, exist_ok=True)
    chunks = []
    with shown(f"indexing {len(storage):,} rows", len(storage)) as done:
        for start in range(0, len(storage), CHUNK_ROWS):
            rows = np.arange(start, min(start + CHUNK_ROWS, len(storage)))
            name = f"{start:010}.arrow"
            if not (work / name).exists():
                write_block(work, _chunk(storage, rows, columns, measured), f"{name}.part")
                os.rename(work / f"{name}.part", work / name)
            chunks.append(read_block(work / name))
            done(len(rows))
    return arrow().concat_tables(chunks)


def file_columns(storage: FileList, rows: Any, stamps: Sequence[tuple[int, Any]]) -> dict[str, Any]:
    """Return paths, labels, sizes and times of change of files."""
    names = ["path"] if storage.labels is None else ["path", "label"]
    changes = [change_number(change) for _, change in stamps]
    return {
        **storage.read(rows, names),
        SIZE: np.array([size for size, _ in stamps], np.int64),
        CHANGE: np.array(changes, np.int64),
    }


def as_table(values: dict[str, Any], columns: dict[str, str]) -> Any:
    """Return columns as an Arrow table of the types named, hidden ones last."""
    pa = arrow()
    types = {**columns, **{name: "int64" for name in values if name in HIDDEN}}
    arrays = {}
    for name, kind in types.items():
        if name not in values:
            continue
        try:
            arrays[name] = pa.array(values[name], arrow_type(kind))
        except (UnicodeEncodeError, pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise BadData(
                f"column {name!r} cannot be kept as {kind}: {error}; rename files whose names are "
                "not UTF-8, or leave the column out with index=[...]"
            ) from error
    return pa.table(arrays)


def is_time(kind: str | None) -> bool:
    """Return whether a column of the row table holds times or dates, which have Arrow's names."""
    is_one = kind is not None and kind.startswith(("timestamp[", "date32["))
    return is_one and "tz=" not in str(kind)


def check_case(columns: Iterable[str]) -> None:
    """Refuse columns that SQL cannot distinguish: a predicate would silently use the wrong one."""
    seen: dict[str, str] = {}
    for name in [*HIDDEN, *dict.fromkeys(columns)]:
        other = seen.setdefault(name.lower(), name)
        if other != name:
            raise BadArgument(
                f"the columns {other!r} and {name!r} differ only in case, which SQL ignores; "
                "rename one of them"
            )


def arrow_type(kind: str) -> Any:
    """Return the Arrow type of a column."""
    pa = arrow()
    if is_time(kind):
        return pa.type_for_alias(kind)
    return pa.string() if kind == "str" else pa.from_numpy_dtype(np.dtype(kind))


def _chunk(storage: Storage, rows: Any, columns: dict[str, str], measured: str) -> Any:
    if not columns:
        return _nothing(len(rows))
    if isinstance(storage, FileList):
        stamps = storage.files.stamps(storage.names.take(rows), missing_ok=True)
        values = file_columns(storage, rows, stamps)
    else:
        values = storage.read(rows, [name for name in columns if name in storage.columns])
    if measured:
        values |= image_sizes(storage, rows, measured)
    return as_table(values, columns)


def _nothing(rows: int) -> Any:
    """Return a table without columns of its own: Arrow would forget how many rows it has."""
    return as_table({CHANGE: np.zeros(rows, np.int64)}, {})


def _time_kind(storage: Storage, name: str) -> str | None:
    """Return the type of a column of objects that are times or dates; None: they are not.

    Times with a zone stay with the data: what '12:00' means depends on the reader's zone.
    """
    if isinstance(storage, FileList):
        return None
    values = storage.read(np.arange(min(_LOOKED_AT, len(storage))), [name])[name]
    kinds = {type(value): value for value in values if value is not None}
    if len(kinds) != 1:
        return None
    ((kind, value),) = kinds.items()
    if issubclass(kind, datetime):
        if any(one is not None and one.tzinfo is not None for one in values):
            return None
        return "timestamp[ns]" if hasattr(value, "nanosecond") else "timestamp[us]"
    return "date32[day]" if issubclass(kind, date) else None


def _is_cheap(storage: Storage, name: str, kind: str | None) -> bool:
    if kind is None or kind == "bytes":
        return False
    if is_time(kind):
        return True
    if kind != "str" and np.dtype(kind).kind not in "biuf":
        return False
    if isinstance(storage, FileList):
        return True
    values = storage.read(np.arange(min(_LOOKED_AT, len(storage))), [name])[name]
    if kind == "str":
        texts = [text for text in values if text is not None]
        return sum(map(len, texts)) <= SHORT_TEXT * len(texts)
    return np.ndim(values) == 1  # arrays with more axes hold data


def _digest(storage: Storage, columns: dict[str, str]) -> str:
    """Identify what is indexed: lists of files by name, others by size and time of change."""
    digest = blake2b(repr(sorted(columns.items())).encode(), digest_size=8)
    if isinstance(storage, FileList):
        digest.update(storage.files.path("").encode(errors="surrogateescape"))
        digest.update(storage.names.blob)
        digest.update(storage.names.ends.tobytes())
    else:
        digest.update(storage.fingerprint().encode())
    return digest.hexdigest()
