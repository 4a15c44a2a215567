"""A table of the catalog as a loader's dataset: which rows, and what joins the samples here.

The catalog is loaded only once there is a table: its name, or one that the script has opened.
"""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from joader.client.dataset.joined_columns import Joining, beside_files
from joader.client.dataset.kinds import is_of_files, is_table, is_table_rows, is_view
from joader.client.dataset.unwrap import Unwrapped
from joader.errors import BadArgument

if TYPE_CHECKING:
    from joader.catalog import View


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
        from joader.catalog import open_table

        return open_table(dataset, version=version).view(where, columns)
    if is_table(dataset):
        if version is not None:
            from joader.catalog import open_table

            dataset = open_table(dataset.name, version=version)
        return dataset.view(where, columns)
    if is_view(dataset) and version in (None, dataset.snapshot.version.number):
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
    if not os.path.exists(dataset):
        return False
    from joader.catalog import table_names

    return dataset not in table_names()


def split(base: Unwrapped, plain: bool) -> tuple[Unwrapped, Joining | None]:
    """Return what workers are to read, and what joins it here, if anything does.

    Of a table the row table's columns; of a list of files labels and paths, if the job is
    `plain`: no code of the user's expects them in the sample.
    """
    joined: Joining | None = None
    if is_table_rows(base.base):
        from joader.client.dataset.joined_table import Joined

        joined = Joined(base.base)
    elif plain and is_of_files(base.base):
        joined = beside_files(base.base)
    return (base, None) if joined is None else (Unwrapped(joined.base, base.rows), joined)


def newer(dataset: Any) -> "View | None":
    """Return the same rows and columns of the table's newest version, if there is a newer one."""
    if not is_view(dataset) or dataset.pinned:
        return None
    from joader.catalog.records import Records
    from joader.catalog.snapshot import Snapshot

    snapshot = dataset.snapshot
    newest = Records(snapshot.folder).newest(snapshot.uid)
    if newest is None or newest == snapshot.version.number:
        return None  # a table that was dropped meanwhile is read as long as that goes
    view: View = dataset.of(Snapshot(snapshot.folder, snapshot.name, snapshot.uid, newest))
    return view
