"""Named tables: rows of a storage with stable numbers, columns to select them by, and versions.

The data stays where it is. The catalog keeps a row table (Arrow files) and its records (SQLite) in
a folder of the user. A row keeps its number forever, so the cache knows it by table and number, and
jobs on different versions, predicates or columns share what they have in common.

Reading order: `catalog` (create, open, drop), `table` (what a user holds), `view` (rows and columns
of a version), `predicate` (SQL); `records` (the database), `blocks` (files), `writing` (one writer
at a time), `draft` (a version being made), `progress` (on a terminal), `source`, `indexing`,
`image_sizes` and `refreshing` (where rows come from), `snapshot` (a version in memory), `rows`
(what workers read).

Not here: reading data (storage), sharing (client).
"""

from typing import TYPE_CHECKING

from joader.lazy import export_lazily

if TYPE_CHECKING:
    from joader.catalog.catalog import create, drop, open_table, table_names
    from joader.catalog.rows import StoredRows, TableRows
    from joader.catalog.table import Table
    from joader.catalog.view import View

__all__ = [
    "StoredRows",
    "Table",
    "TableRows",
    "View",
    "create",
    "drop",
    "open_table",
    "table_names",
]

export_lazily(
    __name__,
    {
        "catalog": ("create", "drop", "open_table", "table_names"),
        "rows": ("StoredRows", "TableRows"),
        "table": ("Table",),
        "view": ("View",),
    },
)
