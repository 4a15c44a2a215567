"""Where files are: in local folders, or in an object store. Both are read in the same way."""

import os
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import urlsplit

import numpy as np

from joader.errors import BadArgument
from joader.storage.local_files import LOCAL_IN_FLIGHT, LocalFiles
from joader.storage.names import Names
from joader.storage.remote_files import REMOTE_IN_FLIGHT, SCHEMES, RemoteFiles, tag_number

Files: TypeAlias = LocalFiles | RemoteFiles
# A list of files that jumps from folder to folder more often than this is one run.
MOST_RUNS = 1 << 16


def is_url(path: str) -> bool:
    """Return whether this is in an object store."""
    return path.startswith(SCHEMES)


def files_at(root: str, in_flight: int | None, settings: Mapping[str, Any] | None) -> Files:
    """Return the files below a folder or URL."""
    if is_url(root):
        return RemoteFiles(root, in_flight or REMOTE_IN_FLIGHT, settings)
    if settings:
        raise BadArgument(f"settings are for object stores, but {root} is a folder; leave them out")
    return LocalFiles(root, in_flight or LOCAL_IN_FLIGHT)


def files_of(
    paths: Sequence[str], in_flight: int | None, settings: Mapping[str, Any] | None
) -> tuple[Files, list[str]]:
    """Return the place of these paths or URLs, all of one store, and their names in it."""
    if not any(map(is_url, paths)):
        return files_at("/", in_flight, settings), list(map(os.path.abspath, paths))
    roots = {_root(path) for path in paths}
    if len(roots) > 1:
        raise BadArgument(
            f"the list has files of {len(roots)} places: {', '.join(sorted(roots)[:4])}; open one "
            "storage per place"
        )
    root = roots.pop()
    return files_at(root, in_flight, settings), [path[len(root) + 1 :] for path in paths]


def shown(paths: Sequence[str]) -> str:
    """Return some paths in short form."""
    return paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1:,} more"


def stamped(files: Files, names: Sequence[str] | Names) -> str:
    """Return a digest of where files are, their sizes and their times of change."""
    packed = names if isinstance(names, Names) else Names.of(names)
    stamps = files.stamps(list(names))
    digest = blake2b(os.fsencode(files.where), digest_size=16)
    digest.update(packed.blob)
    digest.update(packed.ends.tobytes())
    digest.update(np.array([size for size, _ in stamps], np.int64).tobytes())
    digest.update("\n".join(str(change) for _, change in stamps).encode())
    return digest.hexdigest()


class Run(NamedTuple):
    """Consecutive files of a list that are in one folder."""

    folder: str  # relative to the root of the list
    start: int
    end: int


def runs(names: Names) -> list[Run]:
    """Return the runs of a list, or a single one if there would be very many."""
    starts: list[int] = []
    folders: list[str] = []
    for number, name in enumerate(names):
        folder = name.rpartition("/")[0]
        if not folders or folder != folders[-1]:
            starts.append(number)
            folders.append(folder)
    if len(starts) > MOST_RUNS:
        return [Run("", 0, len(names))]
    return list(map(Run, folders, starts, [*starts[1:], len(names)]))


def runs_stamped(
    files: Files, names: Names, stamps: Sequence[tuple[int, str | int]]
) -> list[tuple[Run, str]]:
    """Return a digest of each run that does not depend on the root of the list."""
    found = []
    for run in runs(names):
        here = slice(run.start, run.end)
        place = os.path.join(files.where, run.folder) if run.folder else files.where
        digest = blake2b(os.fsencode(place), digest_size=16)
        inner = len(os.fsencode(run.folder)) + 1 if run.folder else 0
        for name in names.encoded(np.arange(run.start, run.end)):
            digest.update(name[inner:] + b"/")
        digest.update(np.array([size for size, _ in stamps[here]], np.int64).tobytes())
        digest.update("\n".join(str(change) for _, change in stamps[here]).encode())
        found.append((run, digest.hexdigest()))
    return found


def change_number(change: int | str) -> int:
    """Return a time of change, or a store's tag, as a number of 64 bits."""
    return change if isinstance(change, int) else tag_number(change)


def digests_of(*parts: bytes | str) -> str:
    """Return the digest of some parts."""
    digest = blake2b(digest_size=16)
    for part in parts:
        data = os.fsencode(part)
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


def pieces_stamped(paths: Sequence[str], lengths: Sequence[int]) -> list[tuple[str, int]]:
    """Return a digest of each file of this machine, and its rows."""
    return [(paths_stamped([path]), rows) for path, rows in zip(paths, lengths, strict=True)]


def paths_stamped(paths: Sequence[str]) -> str:
    """Return the same digest of files on this machine, by their full paths."""
    return stamped(LocalFiles("/"), paths)


def _root(path: str) -> str:
    if not is_url(path):
        return "this machine"
    parts = urlsplit(path)
    return f"{parts.scheme}://{parts.netloc}"
