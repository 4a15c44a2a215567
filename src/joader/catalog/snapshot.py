"""One version of a table in memory: its columns as Arrow has them in the files, and its rows.

The rows of all segments lie one after the other, so that a row's number is its position; those that
are no longer in the version are there too, and are left out by `rows`. A column that a segment does
not have is null there.

A row is *there*, *deleted* by the user, or *gone*: its data was missing when the table was
refreshed. If the data comes back unchanged, so does the row; a deleted row does not.
"""

import zlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from joader.catalog.blocks import arrow, read_block
from joader.catalog.indexing import HIDDEN, ROW, arrow_type, is_time
from joader.catalog.records import Records
from joader.catalog.writing import table_folder
from joader.errors import BadData
from joader.storage import Values
from joader.storage.arrow_values import Taker, taker
from joader.storage.chunked import Chunked

Rows = npt.NDArray[np.int64]
States = npt.NDArray[np.uint8]
THERE, DELETED, GONE = 0, 1, 2


class Snapshot(Chunked):
    """The row table of a version."""

    def __init__(self, folder: Path, name: str, uid: str, number: int) -> None:
        """Read which rows and files the version has."""
        self.folder, self.name, self.uid = folder, name, uid
        records = Records(folder)
        self.version, states = records.version(uid, number)
        self.segments = records.segments(uid)[: len(self.version.blocks)]
        self.columns = dict(self.version.columns)
        self.sample_columns = tuple(self.columns)
        self.set_chunks([segment.rows for segment in self.segments])
        self._states = states

    @cached_property
    def rows(self) -> Rows:
        """The numbers of the rows that are in the version, ascending."""
        if self._states is None:
            return np.arange(self.version.next_row)
        return np.flatnonzero(self.states() == THERE)

    def states(self) -> States:
        """Return the state of each row number given out so far, as a new array."""
        if self._states is None:
            return np.zeros(self.version.next_row, np.uint8)
        return np.frombuffer(zlib.decompress(self._states), np.uint8).copy()

    @cached_property
    def tables(self) -> list[Any]:
        """An Arrow table for each segment, with all columns, including the hidden ones."""
        place = table_folder(self.folder, self.name)
        found = []
        for segment, files in zip(self.segments, self.version.blocks, strict=True):
            columns: dict[str, Any] = {}
            for file in files:
                block = read_block(place / file)
                columns.update(zip(block.column_names, block.columns, strict=True))
            found.append(self._completed(columns, segment.rows))
        return found

    def _completed(self, columns: dict[str, Any], rows: int) -> Any:
        pa = arrow()
        for name, kind in self.version.columns.items():
            if name not in columns:
                columns[name] = pa.nulls(rows, arrow_type(kind))
        names = [*self.columns, *(name for name in columns if name in HIDDEN)]
        return pa.table({name: columns[name] for name in names})

    @cached_property
    def whole(self) -> Any:
        """All segments as one Arrow table of the columns, and the rows' numbers."""
        pa = arrow()
        shown = [table.select(list(self.columns)) for table in self.tables]
        numbers = pa.array(np.arange(self.version.next_row))
        return pa.concat_tables(shown).append_column(ROW, numbers)

    @cached_property
    def _takers(self) -> dict[tuple[int, str], Taker]:
        return {}

    def takers(self, chunk: int, columns: Sequence[str]) -> list[Taker]:
        """Return what takes values out of these columns of a segment."""
        found = []
        for name in columns:
            take = self._takers.get((chunk, name))
            if take is None:
                array = self.tables[chunk].column(name).combine_chunks()
                take = self._takers[chunk, name] = taker(array)
            found.append(take)
        return found

    def values(self, rows: Rows, name: str) -> Values:
        """Return a column's values for a batch: numbers without gaps, or a list of objects."""
        (values,) = self.fetch(rows, [name])
        kind = self.columns[name]
        if isinstance(values, list) and kind != "str" and not is_time(kind):
            if None in values:
                raise BadData(
                    f"row {rows[values.index(None)]} has no value in the column {name!r}; select "
                    f'rows with where="{name} is not null", or leave the column out'
                )
            return np.array(values, np.dtype(kind))
        return values

    def close(self) -> None:
        """Do nothing: the files are unmapped with the last array that refers to them."""

    def identity(self) -> tuple[Any, ...]:
        """Return which version of which table this is."""
        return self.uid, self.version.number

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel as a name: the files are opened again."""
        return Snapshot, (self.folder, self.name, self.uid, self.version.number)


def packed(states: States) -> bytes | None:
    """Return the states of rows as the database keeps them; None: all are there."""
    return zlib.compress(states.tobytes(), 1) if states.any() else None
