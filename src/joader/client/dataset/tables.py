"""A table of the catalog as a loader's dataset: which rows, and what joins the samples here.

The sample that jobs share holds the stored columns alone, in the table's order: what is read and
prepared in the workers. Columns of the row table (labels, paths, numbers) never travel: the job
takes them from the row table by row number and puts them into its batches. So jobs that differ in
those columns, in the order of columns, in predicate or in version share every preparation.
"""

import os
from collections.abc import Sequence
from typing import Any

from joader.catalog import StoredRows, Table, TableRows, View, open_table, table_names
from joader.catalog.records import Records
from joader.catalog.snapshot import Snapshot
from joader.client.dataset.joined_columns import Joining, beside_files
from joader.client.dataset.unwrap import Unwrapped
from joader.errors import BadArgument
from joader.storage import FileList
from joader.storage.concatenation import Concatenation


def opened(dataset: Any, where: Any, columns: Sequence[str] | None, version: int | None) -> Any:
    """Return what a loader is to read: of a table's name, or a table, the rows and columns."""
    if _is_path(dataset):
        place = os.fspath(dataset)
        raise BadArgument(
            f"dataset is {place!r}, a path; a loader takes a dataset, or the name of a table: open "
            f"the path with joader.storage.open_storage({place!r}), or name it once with "
            f"joader.create(NAME, {place!r}) and give that name"
        )
    if isinstance(dataset, str):
        return open_table(dataset, version=version).view(where, columns)
    if isinstance(dataset, Table):
        if version is not None:
            dataset = open_table(dataset.name, version=version)
        return dataset.view(where, columns)
    if isinstance(dataset, View) and version in (None, dataset.snapshot.version.number):
        return dataset.narrowed(where, columns)
    for name, value in (("where", where), ("columns", columns), ("version", version)):
        if value is not None:
            raise BadArgument(
                f"{name}= is for tables, and the dataset is a {type(dataset).__name__}; give the "
                "name of a table (joader.create makes one), or leave it out"
            )
    return dataset


def _is_path(dataset: Any) -> bool:
    """Tell whether a dataset is where data is, and neither the data nor the name of a table."""
    if not isinstance(dataset, str):
        return isinstance(dataset, os.PathLike)
    if os.sep in dataset or dataset.startswith("~"):  # no table is called so
        return True
    return os.path.exists(dataset) and dataset not in table_names()


class Joined(Joining):
    """Puts the columns of the row table beside the samples that come from the daemon."""

    def __init__(self, base: TableRows) -> None:
        """Take a version, and the columns asked for."""
        self.snapshot: Snapshot = base.snapshot
        stored = StoredRows(self.snapshot, base.sample_columns)
        super().__init__(stored, stored, base.sample_columns, self.snapshot.values, tuple)

    @property
    def name(self) -> str:
        """The table and its version, as the daemon shows them."""
        return f"{self.snapshot.name}@{self.snapshot.version.number}"

    # What a state keeps of the table, and must agree with.

    def state(self) -> dict[str, Any]:
        """Return which version of which table is read."""
        snapshot = self.snapshot
        return {"name": snapshot.name, "uid": snapshot.uid, "version": snapshot.version.number}

    def check(self, state: Any) -> None:
        """Raise BadArgument if a state is of another version, with what has changed."""
        mine = self.state()
        if not isinstance(state, dict) or not set(mine) <= set(state):
            raise BadArgument(
                f"the state is not of a table, and this loader reads the table {mine['name']!r}"
            )
        if state["uid"] != mine["uid"]:
            raise BadArgument(
                f"the state is of another table: {state['name']!r} was dropped and created again, "
                f"or is not {mine['name']!r}; its rows are not these"
            )
        if state["version"] == mine["version"]:
            return
        first, last = sorted([state["version"], mine["version"]])
        changes = [
            version.what
            for version in Records(self.snapshot.folder).versions(mine["uid"])
            if first < version.number <= last
        ]
        raise BadArgument(
            f"the state is of version {state['version']} of the table {mine['name']!r}, and this "
            f"loader reads version {mine['version']} (between them: {'; '.join(changes)}); to go "
            f"on with that pass make the loader with version={state['version']}"
        )


def split(base: Unwrapped, plain: bool) -> tuple[Unwrapped, Joining | None]:
    """Return what workers are to read, and what joins it here, if anything does.

    Of a table the row table's columns; of a list of files labels and paths, if the job is
    `plain`: no code of the user's expects them in the sample.
    """
    joined: Joining | None = None
    if isinstance(base.base, TableRows):
        joined = Joined(base.base)
    elif plain and isinstance(base.base, FileList | Concatenation) and base.base.is_of_files:
        joined = beside_files(base.base)
    return (base, None) if joined is None else (Unwrapped(joined.base, base.rows), joined)


def newer(dataset: Any) -> View | None:
    """Return the same rows and columns of the table's newest version, if there is a newer one."""
    if not isinstance(dataset, View) or dataset.pinned:
        return None
    snapshot = dataset.snapshot
    newest = Records(snapshot.folder).newest(snapshot.uid)
    if newest is None or newest == snapshot.version.number:
        return None  # a table that was dropped meanwhile is read as long as that goes
    return dataset.of(Snapshot(snapshot.folder, snapshot.name, snapshot.uid, newest))
