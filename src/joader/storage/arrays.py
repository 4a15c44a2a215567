"""NumPy arrays: in memory, or in .npy files that are mapped into it.

A row is one index of the first axis. A single array is the column `value`; several arrays are named
by the keys of a dict, or by the files of a folder without their extensions.
"""

import os
from collections.abc import Mapping, Sequence
from functools import partial
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

from joader.errors import BadArgument, BadData, NoData
from joader.storage.per_process import PerProcess
from joader.storage.places import paths_stamped
from joader.storage.storage import Rows, Storage, Values


class Arrays(Storage):
    """Arrays of equal length, by column: each an array, or the path of a .npy file."""

    def __init__(
        self, arrays: Mapping[str, Any] | Any, *, columns: Sequence[str] | None = None
    ) -> None:
        """Look at shapes and types."""
        given = dict(arrays) if isinstance(arrays, Mapping) else {"value": arrays}
        if not given:
            raise NoData("there are no arrays; give one or more")
        paths = {name: os.path.abspath(one) for name, one in given.items() if _is_path(one)}
        self._held = {name: _checked(one) for name, one in given.items() if name not in paths}
        self._paths = paths
        self._mapped = PerProcess(partial(_all_mapped, paths))
        everything = self._arrays()
        lengths = {name: len(array) for name, array in everything.items()}
        self.length = next(iter(lengths.values()))
        if len(set(lengths.values())) > 1:
            raise BadArgument(
                f"the arrays have different lengths: {lengths}; give arrays of equal length"
            )
        if not self.length:
            raise NoData(f"the arrays {', '.join(given)} have no rows; give at least one row")
        self.columns = {name: everything[name].dtype.name for name in given}
        self.choose(columns, tuple(self.columns))

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {**self._held, **self._mapped.get()} if self._paths else self._held

    def fetch(self, rows: Rows, columns: Sequence[str]) -> list[Values]:
        """Copy rows out of the arrays."""
        arrays = self._arrays()
        # "clip", because the rows are already checked: "raise" takes twice as long.
        return [np.take(arrays[name], rows, axis=0, mode="clip") for name in columns]

    def identity(self) -> tuple[Any, ...]:
        """Return stamps of files, and digests of arrays in memory."""
        held = [[name, *_digest(array)] for name, array in self._held.items()]
        return held, list(self._paths), paths_stamped(list(self._paths.values()))

    def close(self) -> None:
        """Unmap the files."""
        self._mapped.take()


def _is_path(value: Any) -> bool:
    return isinstance(value, str | os.PathLike)


def _checked(array: Any) -> npt.NDArray[Any]:
    values = np.asarray(array)
    if values.ndim == 0 or values.dtype.hasobject:
        raise BadArgument(
            f"an array has dtype {values.dtype} and shape {values.shape}; give numbers, with at "
            "least one axis"
        )
    return values


def _all_mapped(paths: Mapping[str, str]) -> dict[str, npt.NDArray[Any]]:
    return {name: _map(path) for name, path in paths.items()}


def _map(path: str) -> npt.NDArray[Any]:
    try:
        return _checked(np.load(path, mmap_mode="r", allow_pickle=False))
    except FileNotFoundError as error:
        raise NoData(f"{path} does not exist; give the path of a .npy file") from error
    except (ValueError, OSError, EOFError) as error:
        raise BadData(f"{path} cannot be mapped as an array: {error}") from error


def _digest(array: npt.NDArray[Any]) -> tuple[str, list[int], str]:
    plain = np.ascontiguousarray(array)
    content = blake2b(plain.reshape(-1).view(np.uint8).data, digest_size=16).hexdigest()
    return repr(array.dtype), list(array.shape), content
