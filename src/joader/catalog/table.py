"""A named table as its user sees it: rows to select from, and methods that alter it.

A table is read in the version it had when it was opened; altering it makes a new version, to which
this object then moves. Other objects keep theirs until they are opened again. Altering starts from
the newest version, even if this object has an older one, and one process does it at a time.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from joader.catalog.blocks import arrow
from joader.catalog.draft import Draft, counted
from joader.catalog.indexing import SIZE, is_time
from joader.catalog.records import Records, Version
from joader.catalog.refreshing import refresh
from joader.catalog.snapshot import DELETED, Rows, Snapshot
from joader.catalog.source import Opened, open_place, shown_place
from joader.catalog.view import View, chosen_rows
from joader.catalog.writing import writing
from joader.errors import BadArgument, BadData, BadRows, UnknownTable
from joader.storage import Values
from joader.storage.arrow_values import type_name


class Table:
    """A table in one of its versions; also a map-style dataset."""

    def __init__(self, snapshot: Snapshot, *, pinned: bool = False) -> None:
        """Take a version; `pinned`: stay at this one."""
        self.snapshot = snapshot
        self.pinned = pinned
        self._samples: View | None = None  # all rows, for callers that read one by one

    @property
    def name(self) -> str:
        """The table's name."""
        return self.snapshot.name

    @property
    def version(self) -> int:
        """The number of the version, from 1 on."""
        return self.snapshot.version.number

    @property
    def columns(self) -> dict[str, str | None]:
        """All columns with their types, those that are stored with the data first."""
        return {**self.snapshot.version.stored, **self.snapshot.version.columns}

    @property
    def classes(self) -> list[str]:
        """The names of classes by label, for a folder of classes."""
        return list(self.snapshot.version.classes)

    def versions(self) -> list[Version]:
        """Return all versions, oldest first."""
        return Records(self.snapshot.folder).versions(self.snapshot.uid)

    def places(self) -> list[str]:
        """Return where the rows come from."""
        records = Records(self.snapshot.folder)
        return [shown_place(source) for source in records.sources(self.snapshot.uid)]

    def size_bytes(self) -> int:
        """Return the total size of the files that hold the rows."""
        there = np.zeros(self.snapshot.version.next_row, np.bool_)
        there[self.snapshot.rows] = True
        total = 0
        for segment in self.snapshot.segments:
            mine = there[segment.first_row :][: segment.rows]
            if not segment.units:
                sizes = self.snapshot.tables[segment.number].column(SIZE).to_numpy()
                total += int(sizes[mine].sum())
            for unit in segment.units:
                if mine[: unit.rows].any():
                    total += sum(size for size, _ in unit.stamps)
                mine = mine[unit.rows :]
        return total

    def rows(self, where: Any = None) -> Rows:
        """Return the numbers of rows: all, or those selected by SQL, a mask or numbers."""
        return chosen_rows(self.snapshot, where).copy()

    def values(self, column: str, where: Any = None) -> Values:
        """Return the values of a column of the row table, in the order of rows."""
        names = list(self.snapshot._known([column]))
        return self.snapshot.fetch(self.rows(where), names)[0]

    def view(self, where: Any = None, columns: Sequence[str] | None = None) -> View:
        """Return some rows and columns as a dataset."""
        if where is None and columns is None:
            if self._samples is None or self._samples.snapshot is not self.snapshot:
                self._samples = View(self.snapshot, pinned=self.pinned)
            return self._samples
        return View(self.snapshot, where, columns, pinned=self.pinned)

    def append(self, place: Any, *, kind: str | None = None, **options: Any) -> "Table":
        """Add the rows of another place, which must have the same stored columns."""

        def work(draft: Draft, before: Snapshot, folder: Path) -> str:
            opened = open_place(place, kind, options)
            draft.add_all(opened, draft.add_source(opened.source))
            return f"{counted(len(opened.storage))} appended"

        return self._alter(work)

    def delete(self, where: Any) -> "Table":
        """Remove rows; their numbers are not reused, and the data stays where it is."""
        if where is None:
            raise BadArgument("where is None; say which rows: SQL, a mask, or row numbers")
        mine = None if isinstance(where, str) else chosen_rows(self.snapshot, where)

        def work(draft: Draft, before: Snapshot, folder: Path) -> str:
            rows = chosen_rows(before, where) if mine is None else mine
            rows = rows[draft.states[rows] != DELETED]
            draft.states[rows] = DELETED
            return f"{counted(len(rows))} deleted" if len(rows) else ""

        return self._alter(work)

    def add_column(self, name: str, values: Any, *, replace: bool = False) -> "Table":
        """Add a column of numbers, strings, times or dates to the row table: one value per row.

        None means no value. `replace`: the column may already exist.
        """
        array, kind = _column(name, values)
        rows = self.snapshot.rows
        if len(array) != len(rows):
            raise BadRows(
                f"the column {name!r} has {len(array)} values, but version {self.version} of "
                f"{self.name!r} has {len(rows)} rows; give one value per row"
            )

        def work(draft: Draft, before: Snapshot, folder: Path) -> str:
            draft.check_new(name)
            if name in draft.columns and not replace:
                raise BadArgument(
                    f"the column {name!r} already exists; pass replace=True to overwrite it"
                )
            draft.set_column(name, kind, array, rows, before)
            return f"column {name!r} {'written' if replace else 'added'}"

        return self._alter(work)

    def refresh(self) -> "Table":
        """Check the sources: add rows that are new or changed, drop those that are gone."""
        return self._refresh(None)

    def _refresh(self, given: Opened | None) -> "Table":
        def work(draft: Draft, before: Snapshot, folder: Path) -> str:
            found = refresh(draft, before, folder, given)
            return f"refreshed: {found}" if found else ""

        return self._alter(work)

    def _alter(self, work: Callable[[Draft, Snapshot, Path], str]) -> "Table":
        """Make a new version of the newest one; `work` says what it did, "" if nothing."""
        if self.pinned:
            raise BadArgument(
                f"this object is fixed at version {self.version} of {self.name!r}; open the table "
                f"with joader.open({self.name!r}) to alter it"
            )
        folder, name, uid = self.snapshot.folder, self.name, self.snapshot.uid
        with writing(folder, name) as place:
            newest = Records(folder).newest(uid)
            if newest is None:
                raise UnknownTable(f"the table {name!r} was dropped in the meantime")
            before = Snapshot(folder, name, uid, newest)
            draft = Draft(place, before)
            what = work(draft, before, place)
            if what:
                newest = draft.commit(folder, name, uid, what)
        self.snapshot = Snapshot(folder, name, uid, newest)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel as a name."""
        return _again, (self.snapshot, self.pinned)

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.snapshot.rows)

    def __getitem__(self, position: int) -> tuple[Any, ...]:
        """Return one sample: the values of the columns that make one, as a tuple."""
        return self.view()[position]

    def __repr__(self) -> str:
        """Say what is in it."""
        return (
            f"Table({self.name!r}, version {self.version}, {len(self)} rows, columns "
            f"{', '.join(self.columns)})"
        )


def _again(snapshot: Snapshot, pinned: bool) -> Table:
    return Table(snapshot, pinned=pinned)


def _column(name: object, values: Any) -> tuple[Any, str]:
    """Return values as an Arrow array, and the name of their type."""
    if not isinstance(name, str):
        raise BadArgument(f"name is {name!r}; the name of a column must be a string")
    pa = arrow()
    try:
        array = pa.array(np.asarray(values) if hasattr(values, "__array__") else values)
    except Exception as error:
        raise BadData(f"the column {name!r} cannot be made from these values: {error}") from error
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    kind = str(array.type) if is_time(str(array.type)) else type_name(array.type)
    if kind in (None, "bytes"):
        raise BadData(
            f"the column {name!r} would be of type {array.type}; a row table holds numbers, "
            "strings, times without a zone, and dates, one per row"
        )
    return array, str(kind)
