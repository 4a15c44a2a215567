"""A Hugging Face dataset that is open in this process: its Arrow table, read without decoding.

Rows are those of the dataset: what `select`, `shuffle` and `filter` left, in their order. Images
are encoded bytes, the right way up (upright.py). A folder written by `save_to_disk` is opened
without this (arrow.py).

A selection of rows (`select`, `shuffle`, `shard`, `train_test_split`) is seen as rows of the whole
files it was taken from, so that two selections share what they have in common.
"""

import copy
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from joader.errors import BadArgument, NoData
from joader.storage.arrow import Batches
from joader.storage.arrow_values import Taker, type_name
from joader.storage.chunked import Chunked
from joader.storage.per_process import PerProcess
from joader.storage.places import digests_of, paths_stamped, shown
from joader.storage.storage import Piece, Rows, Values
from joader.storage.upright import photo_columns


class HuggingFace(Chunked):
    """The rows of a `datasets.Dataset`."""

    def __init__(self, dataset: Any, *, columns: Sequence[str] | None = None) -> None:
        """Look at the dataset's table."""
        if dataset.format["type"] is not None:
            raise BadArgument(
                f"the dataset has the format {dataset.format['type']!r}, which a storage would not "
                "apply: it reads what is stored; pass dataset.with_format(None), or open it with "
                "kind='dataset' to get rows as the dataset returns them"
            )
        if not len(dataset):
            raise NoData("the dataset has no rows; give one with at least one row")
        self.dataset = dataset
        self._photos = photo_columns(dataset.features)
        load = partial(_batches_of, dataset)
        self._batches = PerProcess(partial(Batches, load, self._photos))
        self.set_chunks([len(batch) for batch in self._batches.get().batches])
        chosen = dataset._indices  # None: all rows, in their order
        self._chosen = None if chosen is None else chosen.column(0).to_numpy().astype(np.int64)
        self.length = len(dataset)
        schema = dataset.data.table.schema
        self.columns = {field.name: type_name(field.type) for field in schema}
        self.choose(columns, tuple(self.columns))

    def fetch(self, rows: Rows, columns: Sequence[str]) -> list[Values]:
        """Read the table's rows that correspond to these rows of the dataset."""
        return super().fetch(rows if self._chosen is None else self._chosen[rows], columns)

    def takers(self, chunk: int, columns: Sequence[str]) -> list[Taker]:
        """Return what takes values out of a batch."""
        return self._batches.get().takers(chunk, columns)

    def place(self) -> str:
        """Return the first of its files."""
        paths = [file["filename"] for file in self.dataset.cache_files]
        return shown(paths) if paths else ""

    def identity(self) -> tuple[Any, ...]:
        """Return the dataset's own fingerprint, and the stamps of its files."""
        paths = [file["filename"] for file in self.dataset.cache_files]
        return self.dataset._fingerprint, paths_stamped(paths), sorted(self._photos)

    def reads_as(self) -> tuple[Any, ...]:
        """Return the columns, and which of them are turned."""
        return *super().reads_as(), sorted(self._photos)

    def pieces(self) -> list[Piece] | None:
        """Return the files."""
        return files_of_dataset(self.dataset)

    def whole(self) -> tuple[Any, Rows] | None:
        """Return all rows of the files, and which of them these are."""
        found = whole_dataset(self.dataset)
        if found is None:
            return None
        dataset, rows = found
        return HuggingFace(dataset, columns=self.sample_columns), rows

    def close(self) -> None:
        """Forget the batches; the dataset stays open."""
        self._batches.take()


def _batches_of(dataset: Any) -> list[Any]:
    return [batch for batch in dataset.data.table.to_batches() if len(batch)]


def whole_dataset(dataset: Any) -> tuple[Any, Rows] | None:
    """Return the dataset that this one is a selection of, and its rows; None if it is whole.

    A dataset sliced in memory counts as whole, since nothing points to the rest.
    """
    chosen = dataset._indices
    files = _files(dataset)
    if files is None:
        if chosen is None:
            return None
        whole = copy.copy(dataset)
        whole._indices, whole._fingerprint = None, "whole"
        return whole, chosen.column(0).to_numpy().astype(np.int64)
    tables: dict[str, Any] = {}
    starts: dict[str, int] = {}
    end, parts = 0, []
    for key, path, replays, offset, length in files:
        if key not in tables:
            tables[key] = sys.modules["datasets.table"].MemoryMappedTable.from_file(path, replays)
            starts[key] = end
            end += len(tables[key])
        parts.append(np.arange(length, dtype=np.int64) + starts[key] + offset)
    rows = np.concatenate([np.zeros(0, np.int64), *parts])
    if chosen is not None:
        rows = rows[chosen.column(0).to_numpy()]
    elif rows.size == end and not any(file.offset for file in files):
        return None
    whole = copy.copy(dataset)
    whole._indices = None
    whole._data = _laid_together(list(tables.values()))
    whole._fingerprint = digests_of(*(file.key for file in files))
    return whole, rows


def files_of_dataset(dataset: Any) -> list[Piece] | None:
    """Return the files that a dataset consists of, if it consists of whole files."""
    files = _files(dataset)
    if files is None or dataset._indices is not None or any(file.offset for file in files):
        return None
    return [(file.key, file.length) for file in files]


class _File(NamedTuple):
    """Consecutive rows of an Arrow file."""

    key: str  # of its content and of what was done to its columns
    path: str
    replays: list[Any]  # what was done to its columns
    offset: int
    length: int


# What the library replays on a table when it is reopened: steps that change nothing that is read,
# and steps on columns.
_OF_NOTHING = {"slice", "replace_schema_metadata", "combine_chunks"}
_OF_COLUMNS = {"select", "cast", "rename_columns", "remove_column", "drop", "flatten"}


def _files(dataset: Any) -> list[_File] | None:
    """Return the parts of files that a dataset's table consists of; None if it has other parts."""
    files = []
    for row in getattr(dataset._data, "blocks", [[dataset._data]]):
        block = row[0]
        replays = getattr(block, "replays", None)
        if len(row) > 1 or replays is None:
            return None
        offset = sum(arguments[0] for name, arguments, _ in replays if name == "slice")
        others = [replay for replay in replays if replay[0] not in _OF_NOTHING]
        if not {name for name, _, _ in others} <= _OF_COLUMNS:
            return None
        key = digests_of(paths_stamped([block.path]), repr(others))
        files.append(_File(key, block.path, others, offset, len(block)))
    return files


def _laid_together(tables: list[Any]) -> Any:
    if len(tables) == 1:
        return tables[0]
    concatenation = sys.modules["datasets.table"].ConcatenationTable
    return concatenation.from_blocks([[table] for table in tables])
