"""`open_storage`: finds the kind of storage that reads what it is given."""

import glob
import os
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from joader.errors import BadArgument, NoData
from joader.storage.arrays import Arrays
from joader.storage.arrow import ArrowFiles, saved_dataset
from joader.storage.dataset import DatasetStorage
from joader.storage.files import FileList
from joader.storage.folder import ImageFolder
from joader.storage.hugging_face import HuggingFace
from joader.storage.lmdb import Lmdb
from joader.storage.parquet import ParquetFiles
from joader.storage.places import is_url
from joader.storage.storage import Storage
from joader.storage.tar import TarShards

KINDS = {
    "folder": "a folder (or s3:// prefix) with one subfolder of images per class",
    "files": "a folder, s3:// prefix or list of files or URLs, one per row",
    "tar": "tar shards in WebDataset's layout: a path, URL, list, folder, x-*.tar or x-{0..9}.tar",
    "parquet": "Parquet: a file, list or folder",
    "arrow": "Arrow or Feather: a file, list or folder; what Hugging Face's save_to_disk wrote",
    "lmdb": "an LMDB environment: its folder or file",
    "numpy": "an array, a dict of arrays, a .npy file or a folder of them",
    "hf": "an open Hugging Face datasets.Dataset",
    "dataset": "any object with __len__ and __getitem__",
}
_ENDINGS = {
    ".tar": "tar",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".npy": "numpy",
    ".mdb": "lmdb",
    ".lmdb": "lmdb",
}
# Rows cannot be read one by one from a file that is compressed as a whole.
_PACKED = {
    ".npz": "save each array with np.save, and give the folder of .npy files",
    ".zip": "unpack it, and give the folder",
    **dict.fromkeys(
        (".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar.zst"),
        "unpack it and give the folder, or decompress it and give the .tar",
    ),
    **dict.fromkeys((".gz", ".bz2", ".xz", ".zst"), "unpack it, and give what was in it"),
}
_BRACES = re.compile(r"\{(\d+)\.\.(\d+)\}")


def open_storage(what: Any, *, kind: str | None = None, **options: Any) -> Storage:
    """Open stored rows; the kind is detected, or named with `kind`.

    Every kind takes `columns`, the columns of a sample. Files (also in tars) take `in_flight`, the
    number of concurrent reads, and `settings` of an object store; lists of files take `labels`;
    Parquet `cache_bytes`; LMDB `keys`; datasets `key`.
    """
    if isinstance(what, Storage):
        if options:
            raise BadArgument(
                f"this is already an open {type(what).__name__}, which takes no further options; "
                "pass them when it is opened"
            )
        return what
    if isinstance(what, os.PathLike):
        what = os.fspath(what)
    if kind is None:
        kind = _kind(what)
    if kind not in _OPENERS:
        raise BadArgument(f"kind is {kind!r}; it must be one of:\n{_list_of_kinds()}")
    try:
        return _OPENERS[kind](what, options)
    except TypeError as error:
        if "unexpected keyword argument" not in str(error):
            raise
        wrong = str(error).rpartition(" ")[2]
        raise BadArgument(f"a storage of kind {kind!r} has no option {wrong}") from error


def _kind(what: Any) -> str:
    if isinstance(what, str):
        return _kind_of_url(what) if is_url(what) else _kind_of_path(what)
    if isinstance(what, np.ndarray):
        return "numpy"
    if isinstance(what, Mapping) and what and all(map(_is_array, what.values())):
        return "numpy"
    if isinstance(what, list | tuple) and what and all(map(_is_path, what)):
        kinds = {_ending(os.fspath(path)) or "files" for path in what}
        return kinds.pop() if len(kinds) == 1 else "files"
    library = getattr(sys.modules.get("datasets"), "Dataset", None)
    if library is not None and isinstance(what, library):
        return "hf"
    splits = getattr(sys.modules.get("datasets"), "DatasetDict", None)
    if splits is not None and isinstance(what, splits):
        names = ", ".join(f"[{name!r}]" for name in what)
        raise BadArgument(f"a DatasetDict holds several datasets; open one of them: {names}")
    if hasattr(type(what), "__len__") and hasattr(type(what), "__getitem__") and not _plain(what):
        return "dataset"
    raise BadArgument(
        f"a storage cannot be opened from {_shown(what)}; give one of:\n{_list_of_kinds()}"
    )


def _kind_of_url(url: str) -> str:
    kind = _ending(url)
    _refuse_packed(url)
    if kind in (None, "tar"):
        return kind or "files"
    raise BadArgument(
        f"{url} cannot be read from an object store: single files (kind='files'), class folders "
        f"(kind='folder') and tars can, not {kind}; copy it to a disk"
    )


def _kind_of_path(path: str) -> str:
    if _pattern(path):
        return _ending(path) or "files"
    if not os.path.exists(path):
        raise NoData(f"{path} does not exist (looked for in {os.getcwd()}); check the path")
    if not os.path.isdir(path):
        kind = _ending(path)
        if kind is None:
            _refuse_packed(path)
            raise BadArgument(
                f"{path} is a file of an unknown kind; name it with kind=, or give one of:\n"
                f"{_list_of_kinds()}"
            )
        return kind
    with os.scandir(path) as entries:
        found = {entry.name: entry.is_dir() for entry in entries}
    if "dataset_dict.json" in found or {"state.json", "dataset_info.json"} <= set(found):
        return "arrow"
    if "data.mdb" in found:
        return "lmdb"
    for name in sorted(found):
        if not found[name] and _ending(name):
            return str(_ending(name))
    if not found:
        raise NoData(f"{path} is empty; give a folder with data in it")
    return "folder" if any(found.values()) else "files"


def _ending(path: str) -> str | None:
    return _ENDINGS.get(os.path.splitext(path)[1].lower())


def _refuse_packed(path: str) -> None:
    """Refuse an archive, and say what to do with it."""
    for ending, advice in _PACKED.items():
        if path.lower().endswith(ending):
            raise BadArgument(
                f"{path} is packed ({ending}), so single rows cannot be read from it; {advice}"
            )


def _pattern(path: str) -> bool:
    return bool(_BRACES.search(path)) or (glob.has_magic(path) and not os.path.exists(path))


def _paths(what: Any, kind: str) -> list[str]:
    """Return the files of a path, pattern, folder or list."""
    if isinstance(what, str):
        if is_url(what) or _pattern(what):
            return _expanded(what)
        if not os.path.isdir(what):
            if not os.path.exists(what):
                raise NoData(f"{what} does not exist (looked for in {os.getcwd()}); check the path")
            return [what]
        names = sorted(name for name in os.listdir(what) if _ending(name) == kind)
        if not names:
            endings = " or ".join(end for end, one in _ENDINGS.items() if one == kind)
            raise NoData(f"{what} has no files that end in {endings}; give a folder with some")
        return [os.path.join(what, name) for name in names]
    return [os.fspath(path) for path in what]


def _expanded(pattern: str) -> list[str]:
    """Return the paths that {000..123} and * stand for."""
    found = _BRACES.search(pattern)
    if found:
        first, last = found.groups()
        numbers = [str(n).zfill(len(first)) for n in range(int(first), int(last) + 1)]
        head, tail = pattern[: found.start()], pattern[found.end() :]
        return [path for number in numbers for path in _expanded(f"{head}{number}{tail}")]
    if is_url(pattern) or not glob.has_magic(pattern):
        return [pattern]
    paths = sorted(glob.glob(pattern, recursive=True))
    if not paths:
        raise NoData(f"no file matches {pattern} (looked for in {os.getcwd()}); check the pattern")
    return paths


def _list_of_paths(what: Any) -> str | list[str]:
    if isinstance(what, str):
        return _expanded(what) if _pattern(what) else what
    return [os.fspath(path) for path in what]


def _arrow(what: Any, options: Mapping[str, Any]) -> Storage:
    saved = isinstance(what, str) and any(
        os.path.exists(os.path.join(what, name)) for name in ("state.json", "dataset_dict.json")
    )
    return ArrowFiles(saved_dataset(what) if saved else _paths(what, "arrow"), **options)


def _numpy(what: Any, options: Mapping[str, Any]) -> Storage:
    if isinstance(what, str) and os.path.isdir(what):
        paths = _paths(what, "numpy")
        what = {os.path.splitext(os.path.basename(path))[0]: path for path in paths}
    elif isinstance(what, list | tuple) and all(map(_is_path, what)):
        what = {os.path.splitext(os.path.basename(path))[0]: path for path in what}
    return Arrays(what, **options)


_OPENERS: dict[str, Callable[[Any, Mapping[str, Any]], Storage]] = {
    "folder": lambda what, options: ImageFolder(_existing(what), **options),
    "files": lambda what, options: FileList(_existing(_list_of_paths(what)), **options),
    "tar": lambda what, options: TarShards(_paths(what, "tar"), **options),
    "parquet": lambda what, options: ParquetFiles(_paths(what, "parquet"), **options),
    "arrow": _arrow,
    "lmdb": lambda what, options: Lmdb(what, **options),
    "numpy": _numpy,
    "hf": lambda what, options: HuggingFace(what, **options),
    "dataset": lambda what, options: DatasetStorage(what, **options),
}


def _existing(path: Any) -> Any:
    if isinstance(path, str) and not is_url(path) and not os.path.isdir(path):
        raise NoData(f"{path} is not a folder (looked for in {os.getcwd()}); check the path")
    return path


def _is_path(value: Any) -> bool:
    return isinstance(value, str | os.PathLike)


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) or (
        _is_path(value) and _ending(os.fspath(value)) == "numpy"
    )


def _plain(value: Any) -> bool:
    """Return whether this is a plain value that merely looks like a dataset."""
    return isinstance(value, str | bytes | Mapping | tuple | list | set)


def _shown(value: Any) -> str:
    text = repr(value)
    return f"a {type(value).__name__}: {text[:60]}{'…' if len(text) > 60 else ''}"


def _list_of_kinds() -> str:
    return "\n".join(f"  {name:8} {words}" for name, words in KINDS.items())
