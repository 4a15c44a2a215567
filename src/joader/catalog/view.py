"""Some rows and columns of a version, as a map-style dataset: what a loader reads.

A sample is a tuple in the order of `columns`, however many there are. joader's loaders look through
a view at the rows of its table, so that jobs with other rows, columns or versions share what they
have in common.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from joader.catalog.predicate import matching
from joader.catalog.rows import TableRows
from joader.catalog.snapshot import Rows, Snapshot
from joader.errors import BadArgument, BadRows, UnknownColumn, UnknownRow


class View:
    """Rows of a version in the order of their numbers, and columns in the order given."""

    def __init__(
        self,
        snapshot: Snapshot,
        where: Any = None,
        columns: Sequence[str] | None = None,
        *,
        pinned: bool = False,
    ) -> None:
        """Select rows, and check the columns' names; `pinned`: ignore later versions."""
        self.snapshot = snapshot
        self.columns = chosen_columns(snapshot, columns)
        self.rows = chosen_rows(snapshot, where)
        self.pinned = pinned
        # An array refers to this version's rows; in later versions it means the same numbers.
        self.where = where if where is None or isinstance(where, str) else self.rows

    @cached_property
    def base(self) -> TableRows:
        """All rows of the table, by number."""
        return TableRows(self.snapshot, self.columns)

    def __getstate__(self) -> dict[str, Any]:
        """Travel without what is computed on demand."""
        return {name: value for name, value in self.__dict__.items() if name != "base"}

    def of(self, snapshot: Snapshot) -> "View":
        """Return the same selection of rows and columns of another version."""
        where = self.where
        if where is not None and not isinstance(where, str):
            where = np.intersect1d(where, snapshot.rows)
        return View(snapshot, where, self.columns, pinned=self.pinned)

    def narrowed(self, where: Any, columns: Sequence[str] | None) -> "View":
        """Return the rows that a predicate selects as well, and the columns if any are named.

        With the view's own arguments this is the same view: frameworks rebuild loaders from a
        loader's dataset and arguments.
        """
        if where is None or (isinstance(where, str) and where == self.where):
            where = self.where
        else:
            where = np.intersect1d(self.rows, chosen_rows(self.snapshot, where))
        return View(self.snapshot, where, columns or self.columns, pinned=self.pinned)

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.rows)

    def __getitem__(self, position: int) -> tuple[Any, ...]:
        """Return one sample."""
        if not -len(self.rows) <= position < len(self.rows):
            raise UnknownRow(
                f"position {position} does not exist: the view has {len(self.rows)} rows"
            )
        sample: tuple[Any, ...] = self.base[int(self.rows[position])]
        return sample

    def __getitems__(self, positions: Sequence[int]) -> list[tuple[Any, ...]]:
        """Return many samples, read together."""
        return self.base.__getitems__(self.rows[np.asarray(positions, np.int64)].tolist())

    def __repr__(self) -> str:
        """Say what is read."""
        return (
            f"View({self.snapshot.name!r}, version {self.snapshot.version.number}, "
            f"{len(self.rows)} rows, columns {', '.join(self.columns)})"
        )


def chosen_columns(snapshot: Snapshot, columns: Sequence[str] | None) -> tuple[str, ...]:
    """Return the requested columns, or those of a sample."""
    version = snapshot.version
    if columns is None:
        return tuple(version.sample)
    if isinstance(columns, str):
        raise BadArgument(f"columns is {columns!r}; pass a list of names: [{columns!r}]")
    names = tuple(columns)
    there = ", ".join([*version.stored, *version.columns])
    for name in names:
        if name not in version.stored and name not in version.columns:
            raise UnknownColumn(f"there is no column {name!r}; {snapshot.name!r} has {there}")
    if not names or len(set(names)) < len(names):
        raise BadArgument(f"columns is {list(names)}; name one or more of {there}, each once")
    return names


def chosen_rows(snapshot: Snapshot, where: Any) -> Rows:
    """Return the numbers of the rows selected by a predicate, a mask or numbers, ascending."""
    if where is None:
        return snapshot.rows
    if isinstance(where, str):
        version = snapshot.version
        found = matching(snapshot.whole, version.columns, where, tuple(version.stored))
        return found if len(snapshot.rows) == len(snapshot.whole) else _common(found, snapshot)
    if isinstance(where, set | frozenset | dict) or np.ndim(where) != 1:
        raise BadRows(
            f"where is {where!r:.80}, a {type(where).__name__}; give SQL, a mask (one bool per "
            "row), or row numbers, as a list or an array"
        )
    values = np.asarray(where)
    if values.ndim == 1 and values.dtype == np.bool_:
        if len(values) != len(snapshot.rows):
            raise BadRows(
                f"where is a mask of {len(values)} rows, but version {snapshot.version.number} of "
                f"{snapshot.name!r} has {len(snapshot.rows)}; give one bool per row"
            )
        masked: Rows = snapshot.rows[values]
        return masked
    if values.ndim != 1 or (values.size and values.dtype.kind not in "iu"):
        raise BadRows(
            f"where has dtype {values.dtype} and shape {values.shape}; give SQL, a mask (one bool "
            "per row), or row numbers"
        )
    numbers = np.unique(values.astype(np.int64))
    if len(numbers) < len(values):
        raise BadRows(f"where repeats {len(values) - len(numbers)} rows; give each row once")
    known = _common(numbers, snapshot)
    if len(known) < len(numbers):
        unknown = np.setdiff1d(numbers, known)
        raise UnknownRow(
            f"version {snapshot.version.number} of {snapshot.name!r} has no row {unknown[0]} (of "
            f"those in where, {len(unknown)} are not there); table.rows() are its row numbers"
        )
    return known


def _common(numbers: Rows, snapshot: Snapshot) -> Rows:
    there = np.zeros(snapshot.version.next_row, np.bool_)
    there[snapshot.rows] = True
    inside = numbers[(numbers >= 0) & (numbers < len(there))]
    return inside[there[inside]]
