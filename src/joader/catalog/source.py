"""Where rows come from, recorded so that any process can open it again later.

Two kinds. *Files* that are one row each (folders, lists, prefixes in stores): each is identified by
path, size and time of change. *Units*: files that hold many rows (tars, Parquet, Arrow, LMDB,
.npy), identified by size and time of change as a whole. Data that exists only in this process (an
array, a dataset) cannot be a source.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from joader.catalog.records import Source, Unit
from joader.errors import BadArgument, NoData
from joader.storage import (
    Arrays,
    ArrowFiles,
    FileList,
    ImageFolder,
    Lmdb,
    ParquetFiles,
    Storage,
    TarShards,
    open_storage,
)
from joader.storage.lmdb import data_file
from joader.storage.local_files import LocalFiles
from joader.storage.places import Files, files_at, files_of, is_url

_KINDS: dict[type[Storage], str] = {
    ImageFolder: "folder",
    FileList: "files",
    TarShards: "tar",
    ParquetFiles: "parquet",
    ArrowFiles: "arrow",
    Lmdb: "lmdb",
    Arrays: "numpy",
}
_KEPT_OPTIONS = {"in_flight", "settings", "cache_bytes"}  # of those that open_storage takes


@dataclass(frozen=True)
class Opened:
    """A source as it is now."""

    source: Source
    storage: Storage
    units: list[Unit]  # none if each row is a file


def open_place(place: Any, kind: str | None, options: Mapping[str, Any]) -> Opened:
    """Open what is given for the first time."""
    storage = open_storage(place, kind=kind, **options)
    known = _KINDS.get(type(storage))
    if known is None or (isinstance(storage, Arrays) and storage._held):
        raise BadArgument(
            f"a {type(storage).__name__} exists only in this process, but a table outlives it; "
            "save the data (np.save, Dataset.save_to_disk, or files) and give its path"
        )
    if options.get("keys") is not None:
        raise BadArgument("a table has all keys of an LMDB environment; select rows with where=")
    kept = {name: value for name, value in options.items() if name in _KEPT_OPTIONS}
    try:
        msgspec.json.encode(kept)
    except TypeError as error:
        raise BadArgument(f"options {kept} cannot be kept in the catalog: {error}") from error
    if isinstance(storage, FileList):
        root = _root(storage.files)
        again = _absolute(place) if isinstance(place, str | os.PathLike) else None
        return Opened(Source(known, again, kept, root), storage, [])
    units = _units(storage, known, kept)
    named = _absolute(place) if isinstance(place, str | os.PathLike) else _all_paths(units)
    return Opened(Source(known, named, kept), storage, units)


def open_again(source: Source) -> Opened:
    """Open a source as it is now; not for individually named files."""
    storage = open_storage(source.place, kind=source.kind, **source.options)
    units = [] if isinstance(storage, FileList) else _units(storage, source.kind, source.options)
    return Opened(source, storage, units)


def open_units(source: Source, units: Sequence[Unit]) -> Storage:
    """Open some units of a source, their rows one after the other."""
    paths = _all_paths(units)
    what = paths[0] if source.kind == "lmdb" and isinstance(paths, list) else paths
    return open_storage(what, kind=source.kind, **source.options)


def is_unchanged(source: Source, unit: Unit) -> bool:
    """Return whether a unit is still what was added to the table."""
    try:
        return _stamps(_flat(unit.paths), source.options) == unit.stamps
    except NoData:
        return False


def files_below(source: Source) -> Files:
    """Return the files that the paths of a source refer to."""
    options = source.options
    return files_at(source.root, options.get("in_flight"), options.get("settings"))


def shown_place(source: Source) -> str:
    """Return where a source is, in words."""
    place = source.place
    if isinstance(place, str):
        return f"{place} ({source.kind})"
    if place is None:
        return f"files named one by one, below {source.root}"
    return f"{len(place)} files ({source.kind})"


def _units(storage: Storage, kind: str, options: Mapping[str, Any]) -> list[Unit]:
    if isinstance(storage, Lmdb | Arrays):
        paths: Any = [storage.path] if isinstance(storage, Lmdb) else dict(storage._paths)
        return [Unit(paths, _stamps(_flat(paths), options), len(storage))]
    if isinstance(storage, TarShards):
        names = [storage.files.path(name) for name in storage.shards]
    else:
        assert isinstance(storage, ParquetFiles | ArrowFiles)
        names = storage.paths
    lengths = [len(storage)]
    if len(names) > 1:
        lengths = [len(open_storage([name], kind=kind, **options)) for name in names]
    stamps = _stamps(names, options)
    return [
        Unit([name], [stamp], rows)
        for name, stamp, rows in zip(names, stamps, lengths, strict=True)
    ]


def _stamps(paths: Sequence[str], options: Mapping[str, Any]) -> list[tuple[int, str]]:
    real = [path if is_url(path) else data_file(path) for path in paths]  # LMDB: may be a folder
    files, names = files_of(real, options.get("in_flight"), options.get("settings"))
    return [(size, str(change)) for size, change in files.stamps(names)]


def _flat(paths: dict[str, str] | list[str]) -> list[str]:
    return list(paths.values()) if isinstance(paths, dict) else paths


def _all_paths(units: Sequence[Unit]) -> dict[str, str] | list[str]:
    if len(units) == 1:
        return units[0].paths
    return [path for unit in units for path in unit.paths]


def _root(files: Files) -> str:
    return files.root if isinstance(files, LocalFiles) else files.where


def _absolute(place: str | os.PathLike[str]) -> str:
    path = os.fspath(place)
    return path if is_url(path) else os.path.abspath(path)
