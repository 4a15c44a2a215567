"""A list of files, one per row: in a local folder, or in an object store.

Columns: `image` (the file's content, of any kind), `path`, and `label` if labels were given.
"""

import copy
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from joader.errors import BadArgument, NoData
from joader.storage.local_files import LocalFiles, walk
from joader.storage.names import Names
from joader.storage.places import (
    Files,
    Run,
    change_number,
    digests_of,
    files_at,
    files_of,
    runs_stamped,
)
from joader.storage.storage import Piece, Rows, Storage, Values


class FileList(Storage):
    """Files in the order given; for a folder or URL, all files below it, sorted by name."""

    is_of_files = True
    _given = False  # one by one

    def __init__(
        self,
        paths: str | Sequence[str],
        *,
        labels: Sequence[int] | None = None,
        columns: Sequence[str] | None = None,
        in_flight: int | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """Take paths (or URLs of one store), or list what is below one."""
        if isinstance(paths, str):
            files = files_at(paths, in_flight, settings)
            names = listed(files)
            if not names:
                raise NoData(f"{files.path('')} has no files; give a folder with files in it")
        else:
            if not paths:
                raise NoData("the list of files is empty; give one path or more")
            files, names = files_of(paths, in_flight, settings)
            self._given = True
        self.keep(files, names, labels)
        self.choose(columns, ("image",) if labels is None else ("image", "label"))

    def keep(self, files: Files, names: Sequence[str], labels: Any) -> None:
        """Keep the names, and a label for each if there are any."""
        self.files = files
        self.slow = files.slow
        self.names = Names.of(names)
        self._runs: list[tuple[Run, str]] = []  # as last seen, by narrowed copies too
        self._stamps: list[NDArray[np.int64]] = []  # one array if any, likewise: size and change
        self.length = len(self.names)
        self.columns = {"image": "bytes", "path": "str"}
        self.labels = None
        if labels is not None:
            self.labels = np.asarray(labels)
            if self.labels.shape != (self.length,) or self.labels.dtype.kind not in "iu":
                raise BadArgument(
                    f"labels have dtype {self.labels.dtype} and shape {self.labels.shape}; give "
                    f"one integer for each of the {self.length} files"
                )
            self.labels = self.labels.astype(np.int64)
            self.columns = {"image": "bytes", "label": "int64", "path": "str"}

    def fetch(self, rows: Rows, columns: Sequence[str]) -> list[Values]:
        """Read files."""
        return [self._column(name, rows) for name in columns]

    def _column(self, name: str, rows: Rows) -> Values:
        if name != "image":
            return self.at_hand(rows, name)
        names = self.names.take(rows)
        if not self._stamps:
            return self.files.read_whole(names)
        return self.files.read_unchanged(names, list(map(tuple, self._stamps[0][rows].tolist())))

    def at_hand(self, rows: Rows, name: str) -> Values:
        """Return labels or paths, without reading a file."""
        if name == "label" and self.labels is not None:
            return self.labels[rows]
        return self.names.take(rows)

    def place(self) -> str:
        """Return the folder or URL, or the folder that all files of a list are below."""
        if self.files.where != "/":
            return self.files.where
        return os.path.commonpath([os.path.dirname(name) for name in self.names])

    def whole(self) -> tuple[Any, Rows] | None:
        """Return the list in the order in which folders are listed, and where these rows are."""
        if not self._given:
            return None
        names = list(self.names)
        keys = [name.rpartition("/")[::2] for name in names]
        order = sorted(range(self.length), key=keys.__getitem__)
        if order == list(range(self.length)):
            return None
        places = np.empty(self.length, np.int64)
        places[order] = np.arange(self.length)
        other = copy.copy(self)
        labels = None if self.labels is None else self.labels[order]
        other.keep(self.files, [names[row] for row in order], labels)
        other.choose(self.sample_columns, ())
        return other, places

    def identity(self) -> tuple[Any, ...]:
        """Return the digest of places, sizes, times of change and labels.

        From then on an object of a store is read only if it is unchanged: what jobs share under
        this name is one content. (A local file that is replaced is read as it is.)
        """
        labels = b"" if self.labels is None else self.labels.tobytes()
        stamps = self.files.stamps(list(self.names), missing_ok=True)
        if not isinstance(self.files, LocalFiles):
            pairs = [(size, change_number(change)) for size, change in stamps]
            self._stamps[:] = [np.array(pairs, np.int64)]
        self._runs[:] = runs_stamped(self.files, self.names, stamps)
        digests = "".join(digest for _, digest in self._runs)
        return digests_of(self.files.where, digests), digests_of(labels)

    def reads_as(self) -> tuple[Any, ...]:
        """Return the columns: a file is the same in a folder of classes and in any other list."""
        return "files", self.sample_columns

    def pieces(self) -> list[Piece]:
        """Return the runs of files in one folder, with labels and paths if samples have them."""
        if not self._runs:
            self.identity()
        found = []
        for run, digest in self._runs:
            seen: list[Any] = []
            if self.labels is not None and "label" in self.sample_columns:
                seen.append(self.labels[run.start : run.end].tobytes())
            if "path" in self.sample_columns:
                seen.append(run.folder)
            found.append((digests_of(digest, *seen) if seen else digest, run.end - run.start))
        return found

    def close(self) -> None:
        """End threads."""
        super().close()
        self.files.close()


def listed(files: Files) -> list[str]:
    """Return the names of all files below the root, sorted."""
    if isinstance(files, LocalFiles):
        start = len(files.root.rstrip("/")) + 1
        return [path[start:] for path in walk(files.root)]
    return [name for name, _ in files.listing()]
