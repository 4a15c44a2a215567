"""Finds what has changed in a table's sources: only new and changed files are read again.

Each file, or unit of files, is compared with its last known state. Unchanged: nothing to do. New or
changed: rows with new numbers, since a number stands for the same data forever. Removed or changed:
the old rows are gone; they come back if the same data does.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from joader.catalog.draft import Draft
from joader.catalog.image_sizes import image_sizes
from joader.catalog.indexing import CHANGE, SIZE, as_table, file_columns, index
from joader.catalog.progress import shown
from joader.catalog.records import Records, Segment, Source
from joader.catalog.snapshot import GONE, THERE, Rows, Snapshot
from joader.catalog.source import Opened, files_below, open_again, open_units
from joader.storage import FileList
from joader.storage.local_files import MISSING, LocalFiles

_AT_ONCE = 1 << 14


def refresh(draft: Draft, before: Snapshot, place: Path, given: Opened | None = None) -> str:
    """Bring a draft up to date with its sources (the first one as given); return what changed."""
    after = int(draft.states.size)
    present: list[Rows] = []
    for number, source in enumerate(Records(before.folder).sources(before.uid)):
        segments = [segment for segment in before.segments if segment.source == number]
        if number == 0 and given is not None:
            opened: Opened | None = given
        else:
            opened = None if source.place is None else open_again(source)
        if segments and segments[0].units:
            assert opened is not None
            present.append(_units(draft, segments, opened, number, place))
        else:
            present.append(_files(draft, before, segments, source, opened, number))
    return _mark(draft, np.concatenate(present), after)


def _mark(draft: Draft, present: Rows, after: int) -> str:
    """Mark which of the earlier rows are gone, and which have come back."""
    seen = np.zeros(after, np.bool_)
    seen[present] = True
    states = draft.states[:after]
    lost, back = (states == THERE) & ~seen, (states == GONE) & seen
    states[lost], states[back] = GONE, THERE
    counts = {
        "added": draft.states.size - after,
        "gone": int(np.count_nonzero(lost)),
        "back": int(np.count_nonzero(back)),
    }
    return ", ".join(f"{count:,} {word}" for word, count in counts.items() if count)


def _files(
    draft: Draft,
    before: Snapshot,
    segments: Sequence[Segment],
    source: Source,
    opened: Opened | None,
    number: int,
) -> Rows:
    """Add files that are new or changed; return the rows whose files are unchanged."""
    known = _known_files(before, segments)
    if opened is None:
        storage: Any = _named_files(source, known)
        labels = [known[name][3] for name in storage.names] if storage is not None else []
        if storage is None:
            return np.zeros(0, np.int64)
        if labels and labels[0] is not None:
            storage.keep(storage.files, list(storage.names), labels)
    else:
        storage = draft.relabelled(opened.storage)
    names = list(storage.names)
    stamps = _stamps(storage, names)
    values = file_columns(storage, np.arange(len(names)), stamps)
    sizes, changes = values[SIZE].tolist(), values[CHANGE].tolist()
    same, new = [], []
    for at, (name, size, change) in enumerate(zip(names, sizes, changes, strict=True)):
        row = known.get(name)
        if (size, change) == MISSING:  # a dangling link counts as a file that is gone
            continue
        if row is not None and row[1:3] == (size, change):
            same.append(row[0])
        else:
            new.append(at)
    if new:
        chosen = {
            name: column[new] if isinstance(column, np.ndarray) else [column[at] for at in new]
            for name, column in values.items()
        }
        if draft.measured:
            chosen |= image_sizes(storage, np.array(new), draft.measured)
        draft.add_rows(as_table(chosen, draft.columns_of(storage)), number, [])
    return np.array(same, np.int64)


def _known_files(
    before: Snapshot, segments: Sequence[Segment]
) -> dict[str, tuple[int, int, int, int | None]]:
    """Return the last known row, size, time of change and label of each file."""
    known: dict[str, tuple[int, int, int, int | None]] = {}
    for segment in segments:
        table = before.tables[segment.number]
        columns = [table.column(name).to_pylist() for name in ("path", SIZE, CHANGE)]
        labels: Sequence[int | None] = [None] * segment.rows
        if "label" in table.column_names:
            labels = table.column("label").to_pylist()
        numbers = range(segment.first_row, segment.first_row + segment.rows)
        for path, size, change, row, label in zip(*columns, numbers, labels, strict=True):
            known[path] = (row, size, change, label)
    return known


def _named_files(source: Source, known: dict[str, Any]) -> FileList | None:
    """Return those of the individually named files that still exist."""
    files = files_below(source)
    names = list(known)
    if isinstance(files, LocalFiles):
        names = [name for name in names if os.path.exists(files.path(name))]
    if not names:
        return None
    return FileList([files.path(name) for name in names], **source.options)


def _stamps(storage: FileList, names: Sequence[str]) -> list[tuple[int, Any]]:
    found: list[tuple[int, Any]] = []
    with shown(f"checking {len(names):,} files", len(names)) as done:
        for start in range(0, len(names), _AT_ONCE):
            part = names[start : start + _AT_ONCE]
            found += storage.files.stamps(part, missing_ok=True)
            done(len(part))
    return found


def _units(
    draft: Draft, segments: Sequence[Segment], opened: Opened, number: int, place: Path
) -> Rows:
    """Add units that are new or changed; return the rows whose units are unchanged."""
    known: dict[tuple[str, ...], tuple[Any, range]] = {}
    for segment in segments:
        first = segment.first_row
        for unit in segment.units:
            known[_name(unit.paths)] = (unit.stamps, range(first, first + unit.rows))
            first += unit.rows
    same, new = [np.zeros(0, np.int64)], []
    for unit in opened.units:
        stamps, rows = known.get(_name(unit.paths), (None, range(0)))
        if stamps == unit.stamps:
            same.append(np.array(rows, np.int64))
        else:
            new.append(unit)
    if new:
        storage = open_units(opened.source, new)
        columns = draft.columns_of(storage)
        draft.add_rows(index(storage, columns, place, draft.measured), number, new)
    return np.concatenate(same)


def _name(paths: dict[str, str] | list[str]) -> tuple[str, ...]:
    return tuple(paths.items() if isinstance(paths, dict) else paths)  # type: ignore[arg-type]
