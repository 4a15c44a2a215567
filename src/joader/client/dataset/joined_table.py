"""Columns of a table's row table, put beside the samples that jobs share.

The sample that jobs share holds the stored columns alone, in the table's order: what is read and
prepared in the workers. Columns of the row table (labels, paths, numbers) never travel: the job
takes them from the row table by row number and puts them into its batches. So jobs that differ in
those columns, in the order of columns, in predicate or in version share every preparation.
"""

from typing import Any

from joader.catalog import StoredRows, TableRows
from joader.catalog.records import Records
from joader.catalog.snapshot import Snapshot
from joader.client.dataset.joined_columns import Joining
from joader.errors import BadArgument


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
