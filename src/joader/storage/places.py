"""Where files lie: in folders here, or in an object store. Both are read in the same way."""

import os
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, TypeAlias
from urllib.parse import urlsplit

import numpy as np

from joader.errors import BadArgument
from joader.storage.local_files import LOCAL_IN_FLIGHT, LocalFiles
from joader.storage.names import Names
from joader.storage.remote_files import REMOTE_IN_FLIGHT, SCHEMES, RemoteFiles

Files: TypeAlias = LocalFiles | RemoteFiles


def is_url(path: str) -> bool:
    """Tell whether this is in an object store."""
    return path.startswith(SCHEMES)


def files_at(root: str, in_flight: int | None, settings: Mapping[str, Any] | None) -> Files:
    """Return the files below a folder or URL."""
    if is_url(root):
        return RemoteFiles(root, in_flight or REMOTE_IN_FLIGHT, settings)
    if settings:
        raise BadArgument(f"settings are for object stores, and {root} is a folder; leave them out")
    return LocalFiles(root, in_flight or LOCAL_IN_FLIGHT)


def files_of(
    paths: Sequence[str], in_flight: int | None, settings: Mapping[str, Any] | None
) -> tuple[Files, list[str]]:
    """Return a place and the names in it of these paths or URLs, all of one store."""
    if not any(map(is_url, paths)):
        return files_at("/", in_flight, settings), list(map(os.path.abspath, paths))
    roots = {_root(path) for path in paths}
    if len(roots) > 1:
        raise BadArgument(
            f"the list has files of {len(roots)} places: {', '.join(sorted(roots)[:4])}; open one "
            "storage for each"
        )
    root = roots.pop()
    return files_at(root, in_flight, settings), [path[len(root) + 1 :] for path in paths]


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


def paths_stamped(paths: Sequence[str]) -> str:
    """Return the same digest of files on this machine, by their full paths."""
    return stamped(LocalFiles("/"), paths)


def _root(path: str) -> str:
    if not is_url(path):
        return "this machine"
    parts = urlsplit(path)
    return f"{parts.scheme}://{parts.netloc}"
