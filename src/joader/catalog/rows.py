"""The rows of a table by number, in all versions: the dataset that workers read from.

A row's number stands for the same stored data forever, so the sample prepared from it may be shared
by jobs on different versions. Data is found through the catalog's segments; a segment that was made
after this object was sent to a worker is looked up when one of its rows is asked for. Invariant:
two jobs on one table have equal objects here if they ask for the same stored columns; the columns
of the row table, which may differ by version, are not among them.
"""

import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from joader.catalog.blocks import read_block
from joader.catalog.indexing import CHANGE, SIZE
from joader.catalog.records import Records, Segment, Source, Unit
from joader.catalog.snapshot import Snapshot
from joader.catalog.source import files_below, is_unchanged, open_units
from joader.catalog.writing import table_folder
from joader.errors import ReadFailed, UnknownRow
from joader.storage import Storage, Values
from joader.storage.arrow_values import Taker, taker
from joader.storage.expected import Expected
from joader.storage.per_process import PerProcess
from joader.storage.places import is_url
from joader.storage.storage import Rows, fetch_parts

_LEAST_LIMIT = 1 << 22


def row_limit(next_row: int) -> int:
    """Return an upper limit on row numbers, equal for all versions until the table outgrows it.

    Jobs share only if they agree on it, so it has to leave room: 4 million, 16 million, ...
    """
    limit = _LEAST_LIMIT
    while limit < next_row:
        limit *= 4
    return limit


class StoredRows(Storage):
    """Stored columns of a table's rows; a sample is one column's value, or a tuple of several."""

    def __init__(self, snapshot: Snapshot, columns: Sequence[str]) -> None:
        """Take a snapshot; columns are always in the table's order."""
        self.folder, self.name, self.uid = snapshot.folder, snapshot.name, snapshot.uid
        self.columns = dict(snapshot.version.stored)
        self.sample_columns = tuple(name for name in self.columns if name in columns)
        self.length = row_limit(snapshot.version.next_row)
        self._segments = PerProcess(partial(_Segments, self.folder, self.name, self.uid))
        self._remote = _opened_remote(self._segments.get())
        self.slow = bool(self._remote)
        self._expected = PerProcess(Expected)

    def fetch(self, rows: Rows, columns: Sequence[str]) -> list[Values]:
        """Read from the sources."""
        return self._segments.get().fetch(rows, columns, self._remote)

    def _sample(self, row: int) -> Any:
        """Return one sample; without any stored column it is empty."""
        return super()._sample(row) if self.sample_columns else ()

    def identity(self) -> tuple[Any, ...]:
        """Return which table this is: the version does not matter."""
        return self.uid, self.length


class TableRows(StoredRows):
    """All columns of a table's rows in one version; a sample is a tuple."""

    def __init__(self, snapshot: Snapshot, columns: Sequence[str]) -> None:
        """Take a version, and the columns that make up a sample."""
        super().__init__(snapshot, columns)
        self.columns = {**self.columns, **snapshot.columns}
        self.sample_columns = tuple(self._known(columns))
        self.version = snapshot.version.number
        self._snapshot = PerProcess(
            partial(Snapshot, self.folder, self.name, self.uid, self.version)
        )

    @property
    def snapshot(self) -> Snapshot:
        """The version, as this process has it."""
        return self._snapshot.get()

    def fetch(self, rows: Rows, columns: Sequence[str]) -> list[Values]:
        """Read stored columns from the sources, others from the row table."""
        kept = self.snapshot.columns
        stored = [name for name in columns if name not in kept]
        found = dict(zip(stored, super().fetch(rows, stored), strict=True)) if stored else {}
        return [
            self.snapshot.values(rows, name) if name in kept else found[name] for name in columns
        ]

    def _sample(self, row: int) -> tuple[Any, ...]:
        values = self.fetch(np.array([row]), self.sample_columns)
        return tuple(value[0] for value in values)

    def __getitems__(self, rows: Sequence[int]) -> list[Any]:
        """Return many samples, read together."""
        values = self.fetch(self._checked(rows), self.sample_columns)
        return list(zip(*values, strict=True))

    def identity(self) -> tuple[Any, ...]:
        """Return which version of which table this is."""
        return self.uid, self.length, self.version


class _Segments:
    """The segments of a table, opened in one process when a row of theirs is read."""

    def __init__(self, folder: Path, name: str, uid: str) -> None:
        self._records, self._uid = Records(folder), uid
        self._place, self.name = table_folder(folder, name), name
        self._open: dict[int, Storage] = {}
        self._lock = threading.Lock()
        self._look()

    def _look(self) -> None:
        self.sources = self._records.sources(self._uid)
        self.segments = self._records.segments(self._uid)
        self._starts = np.array([segment.first_row for segment in self.segments], np.int64)
        self._end = sum(segment.rows for segment in self.segments)

    def fetch(self, rows: Rows, columns: Sequence[str], remote: dict[int, Storage]) -> list[Values]:
        if rows.size and int(rows.max()) >= self._end:
            self._find(int(rows.max()))
        which = np.searchsorted(self._starts, rows, "right") - 1

        def fetch(number: int, some: Rows) -> list[Values]:
            storage = remote.get(number) or self.opened(number)
            return storage.fetch(some - self._starts[number], columns)

        return fetch_parts(which, rows, len(columns), fetch)

    def opened(self, number: int) -> Storage:
        storage = self._open.get(number)
        if storage is None:
            with self._lock:
                storage = self._open.get(number) or self.open(number)
                self._open[number] = storage
        return storage

    def open(self, number: int) -> Storage:
        segment = self.segments[number]
        source = self.sources[segment.source]
        if segment.units:
            return _SegmentUnits(source, segment.units)
        return _SegmentFiles(source, self._place / segment.block, segment.rows)

    def _find(self, row: int) -> None:
        """Look for segments that were added in the meantime."""
        with self._lock:
            self._look()
        if not self.segments:
            raise ReadFailed(f"the table {self.name!r} was dropped; its rows cannot be read")
        if row >= self._end:
            raise UnknownRow(
                f"row {row} does not exist: the rows of {self.name!r} end at {self._end - 1}"
            )


class _SegmentFiles(Storage):
    """Files that are one row each, by the paths in a segment's file."""

    def __init__(self, source: Source, block: Path, rows: int) -> None:
        self._files = files_below(source)
        self._block = PerProcess(partial(_takers, block))
        self.columns, self.sample_columns, self.length = {"image": "bytes"}, ("image",), rows

    def fetch(self, rows: Rows, columns: Sequence[str]) -> list[Values]:
        paths, sizes, changes = (take.many(rows) for take in self._block.get())
        stamps = list(zip(map(int, sizes), map(int, changes), strict=True))
        return [self._files.read_unchanged(list(paths), stamps) for _ in columns]

    def identity(self) -> tuple[Any, ...]:
        return ()


class _SegmentUnits(Storage):
    """Files that hold many rows; those changed since they were added can no longer be read."""

    def __init__(self, source: Source, units: Sequence[Unit]) -> None:
        self._units = units
        good = [is_unchanged(source, unit) for unit in units]
        lengths = np.array([unit.rows for unit in units])
        self._starts = np.cumsum(lengths) - lengths
        self._good = np.array(good)
        left_out = np.where(self._good, 0, lengths)
        self._shifts = np.cumsum(left_out) - left_out
        kept = [unit for unit, unchanged in zip(units, good, strict=True) if unchanged]
        self._storage = open_units(source, kept) if kept else None
        self.length = int(lengths.sum())
        self.columns, self.sample_columns = {}, ()

    def fetch(self, rows: Rows, columns: Sequence[str]) -> list[Values]:
        which = np.searchsorted(self._starts, rows, "right") - 1
        if self._storage is None or not self._good[which].all():
            wrong = self._units[int(which[np.argmin(self._good[which])])]
            raise ReadFailed(
                f"{', '.join(wrong.paths)} was changed or removed after it was added to the "
                "table; call table.refresh(), and begin a new pass"
            )
        return self._storage.fetch(rows - self._shifts[which], columns)

    def identity(self) -> tuple[Any, ...]:
        return ()


def _takers(block: Path) -> list[Taker]:
    """Return takers of paths, sizes and times of change from a segment's file."""
    table = read_block(block)
    return [taker(table.column(name).combine_chunks()) for name in ("path", SIZE, CHANGE)]


def _opened_remote(found: _Segments) -> dict[int, Storage]:
    """Open data in object stores here, as workers may not have the environment variables for it."""
    return {s.number: found.open(s.number) for s in found.segments if _is_remote(s, found.sources)}


def _is_remote(segment: Segment, sources: Sequence[Source]) -> bool:
    paths = [path for unit in segment.units for path in unit.paths]
    return is_url(sources[segment.source].root) or any(map(is_url, paths))
