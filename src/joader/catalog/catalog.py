"""Named tables of this user: create, open, drop, list."""

import uuid
from collections.abc import Sequence
from typing import Any

from joader.catalog.draft import Draft, counted
from joader.catalog.records import Records
from joader.catalog.snapshot import Snapshot
from joader.catalog.source import Opened, open_place
from joader.catalog.table import Table
from joader.catalog.writing import checked_name, writing
from joader.config import catalog_folder
from joader.errors import BadArgument, TableExists, UnknownTable


def create(
    name: str,
    place: Any,
    *,
    kind: str | None = None,
    index: Sequence[str] | None = None,
    sizes: bool = False,
    exist_ok: bool = False,
    **options: Any,
) -> Table:
    """Make a table of the rows in a place: anything that `open_storage` takes and can reopen.

    The data stays where it is. `index` names the columns that are kept in the row table, to select
    rows by; by default numbers and short strings. `sizes`: read the headers of the images and keep
    their `width` and `height`, too. `exist_ok`: refresh the table if it already exists for the same
    place. A call that was interrupted resumes where it stopped.
    """
    folder = catalog_folder()
    checked_name(name)
    if Records(folder).find(name) and not exist_ok:
        raise _exists(name)
    opened = open_place(place, kind, options)
    with writing(folder, name) as place_of_table:
        there = Records(folder).find(name) is not None
        if not there:
            draft = Draft(place_of_table, None)
            draft.set_columns(opened.storage, index, sizes)
            draft.add_all(opened, draft.add_source(opened.source))
            what = f"created of {counted(len(opened.storage))}"
            draft.commit(folder, name, uuid.uuid4().hex, what)
    if not there:
        return open_table(name)
    if not exist_ok:
        raise _exists(name)
    return _refreshed(open_table(name), opened)


def _refreshed(table: Table, opened: Opened) -> Table:
    first = Records(table.snapshot.folder).sources(table.snapshot.uid)[0]
    if (first.kind, first.place, first.root) != (
        opened.source.kind,
        opened.source.place,
        opened.source.root,
    ):
        raise TableExists(
            f"the table {table.name!r} exists for {first.place or 'files'} ({first.kind}), but "
            f"this is {opened.source.place or 'files'} ({opened.source.kind}); choose another "
            f"name, append to it, or drop it: joader.drop({table.name!r})"
        )
    return table._refresh(opened)


def open_table(name: str, *, version: int | None = None) -> Table:
    """Open a table in its newest version, or fixed at the given version."""
    folder = catalog_folder()
    records = Records(folder)
    found = records.find(checked_name(name))
    if found is None:
        there = ", ".join(records.names()[:20])
        raise UnknownTable(
            f"there is no table {name!r} in {folder}; "
            + (f"there are {there}" if there else f"make it with joader.create({name!r}, path)")
        )
    uid, newest = found
    if version is None:
        return Table(Snapshot(folder, name, uid, newest))
    if isinstance(version, bool) or not isinstance(version, int) or not 1 <= version <= newest:
        raise UnknownTable(
            f"the table {name!r} has no version {version!r}; its versions are 1 to {newest}"
        )
    return Table(Snapshot(folder, name, uid, version), pinned=True)


def drop(name: str) -> None:
    """Remove a table with all its versions; the data stays where it is.

    Processes that have the table open go on reading it; a worker started later cannot open it.
    """
    folder = catalog_folder()
    if Records(folder).find(checked_name(name)) is None:
        open_table(name)  # raises an error that lists the existing tables
    with writing(folder, name):
        found = Records(folder).find(name)
        if found is not None:
            Records(folder).forget(found[0])


def table_names() -> list[str]:
    """Return the names of all tables."""
    return Records(catalog_folder()).names()


def _exists(name: str) -> BadArgument | TableExists:
    return TableExists(
        f"the table {name!r} already exists; open it with joader.open({name!r}), bring it up to "
        f"date with exist_ok=True, or joader.drop({name!r}) first"
    )
