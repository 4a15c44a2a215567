"""A version being made: files are written as it grows, and nothing is visible before `commit`."""

import copy
import time
from pathlib import Path
from typing import Any

import numpy as np

from joader.catalog.blocks import arrow, write_block
from joader.catalog.image_sizes import HEIGHT, WIDTH
from joader.catalog.indexing import HIDDEN, SIZE, check_case, index, row_columns
from joader.catalog.records import Records, Segment, Source, Unit, Version
from joader.catalog.snapshot import Rows, Snapshot, States, packed
from joader.catalog.source import Opened
from joader.errors import BadArgument, UnknownColumn
from joader.sampling.rows import ROW_LIMIT
from joader.storage import FileList, ImageFolder, Storage


class Draft:
    """The next version of a table; starts as a copy of the one before."""

    def __init__(self, place: Path, before: Snapshot | None) -> None:
        """Start from a version; None: from nothing."""
        self._place = place
        self._number = 1
        self._next_row = 0
        self.columns: dict[str, str] = {}
        self.stored: dict[str, str | None] = {}
        self.states: States = np.zeros(0, np.uint8)
        self._sample: list[str] = []
        self.measured = ""
        self._classes: list[str] = []
        self._blocks: list[list[str]] = []
        self._sources: list[Source] = []
        self._known_sources = 0
        self._segments: list[Segment] = []
        if before is not None:
            last = before.version
            self._number = last.number + 1
            self._next_row = last.next_row
            self.columns, self.stored = dict(last.columns), dict(last.stored)
            self.states = before.states()
            self._sample, self._classes = list(last.sample), list(last.classes)
            self.measured = last.measured
            self._blocks = [list(files) for files in last.blocks]
            self._known_sources = len(Records(before.folder).sources(before.uid))

    def set_columns(self, storage: Storage, named: Any, sizes: bool) -> None:
        """Set the columns from the table's first storage: which are kept here, and which stay.

        `sizes`: also keep widths and heights of the images in the first stored column.
        """
        self.columns = row_columns(storage, named)
        first = [*storage.sample_columns, *storage.columns]
        names = [name for name in dict.fromkeys(first) if name not in self.columns]
        self.stored = {name: storage.columns[name] for name in names}
        self._sample = list(storage.sample_columns)
        if sizes:
            images = [name for name, kind in self.stored.items() if kind == "bytes"]
            if not images or {WIDTH, HEIGHT} & set(storage.columns):
                raise BadArgument(
                    "sizes=True needs a column of image bytes, and no columns 'width' or 'height'; "
                    f"leave it out for {storage!r}"
                )
            self.measured = images[0]
            self.columns |= {WIDTH: "int64", HEIGHT: "int64"}
        check_case([*self.columns, *self.stored])

    def add_source(self, source: Source) -> int:
        """Add a place, and return its number."""
        self._sources.append(source)
        return self._known_sources + len(self._sources) - 1

    def add_all(self, opened: Opened, source: int) -> None:
        """Add all rows of a storage."""
        columns = self.columns_of(opened.storage)
        table = index(self.relabelled(opened.storage), columns, self._place, self.measured)
        self.add_rows(table, source, opened.units)

    def columns_of(self, storage: Storage) -> dict[str, str]:
        """Return which columns of a storage go into the row table; new ones are added to it."""
        missing = [name for name in self.stored if name not in storage.columns]
        if missing:
            raise BadArgument(
                f"{storage!r} lacks {', '.join(map(repr, missing))}, which the table's rows have; "
                "append a storage with the same stored columns"
            )
        unknown = [
            name for name in storage.columns if name not in self.columns and name not in self.stored
        ]
        offered = row_columns(storage, None) if unknown else {}
        self.columns |= {name: offered[name] for name in unknown if name in offered}
        check_case([*self.columns, *self.stored])
        made = {SIZE} if isinstance(storage, FileList) else set()
        made |= {WIDTH, HEIGHT} if self.measured else set()
        return {
            name: kind
            for name, kind in self.columns.items()
            if name in storage.columns or name in made
        }

    def relabelled(self, storage: Storage) -> Storage:
        """Return a folder of classes with the table's labels: a known class keeps its label.

        Classes new to the table get the next numbers, so that labels never change their meaning.
        """
        if not isinstance(storage, ImageFolder):
            return storage
        self._classes += [name for name in storage.classes if name not in self._classes]
        number = {name: label for label, name in enumerate(self._classes)}
        labels = np.array([number[name] for name in storage.classes], np.int64)
        changed = copy.copy(storage)
        assert storage.labels is not None
        changed.labels = labels[storage.labels]
        return changed

    def add_rows(self, table: Any, source: int, units: list[Unit]) -> None:
        """Add a segment: rows with new numbers, columns as they were read."""
        count = table.num_rows
        if self._next_row + count > ROW_LIMIT:
            raise BadArgument(
                f"the table would have {self._next_row + count} rows; at most {ROW_LIMIT} can be "
                "numbered"
            )
        block = write_block(self._place, table)
        number = len(self._blocks)
        self._segments.append(Segment(number, self._next_row, count, source, block, units))
        self._blocks.append([block])
        self._next_row += count
        self.states = np.concatenate([self.states, np.zeros(count, np.uint8)])

    def set_column(self, name: str, kind: str, values: Any, rows: Rows, before: Snapshot) -> None:
        """Write a column of these rows, replacing an existing one; other rows have no value."""
        places = np.full(self._next_row, -1, np.int64)
        places[rows] = np.arange(len(rows))
        spread = values.take(arrow().array(places, mask=places < 0))
        for number, segment in enumerate(before.segments):
            part = spread.slice(segment.first_row, segment.rows)
            self._blocks[number].append(write_block(self._place, arrow().table({name: part})))
        self.columns[name] = kind

    def check_new(self, name: str) -> None:
        """Refuse a name that a new column cannot have."""
        if not name or name in HIDDEN or name in self.stored:
            why = "it is stored with the data" if name in self.stored else "joader reserves it"
            raise UnknownColumn(f"a column cannot be called {name!r}: {why}; choose another name")
        check_case([*self.columns, *self.stored, name])

    def commit(self, folder: Path, name: str, uid: str, what: str) -> int:
        """Make the version visible, and return its number."""
        version = Version(
            number=self._number,
            made_at=time.time(),
            what=what,
            rows=int(np.count_nonzero(self.states == 0)),
            next_row=self._next_row,
            columns=self.columns,
            stored=self.stored,
            sample=self._sample,
            classes=self._classes,
            measured=self.measured,
            blocks=self._blocks,
        )
        states = packed(self.states)
        Records(folder).add(name, uid, version, states, self._sources, self._segments)
        return version.number


def counted(rows: int) -> str:
    """Return a number of rows in words."""
    return f"{rows:,} row{'' if rows == 1 else 's'}"
