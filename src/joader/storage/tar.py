"""Tar shards in WebDataset's layout, any row at any time.

Columns: one per extension, and `__key__`. Values are the members' bytes, None if a row has no such
member; only `cls` is a number, as in WebDataset. The shards are indexed once (tar_index.py); after
that a value is one read at a known place.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from joader.errors import BadData, NoData
from joader.storage.folder import EXTENSIONS
from joader.storage.names import Names
from joader.storage.origins import note
from joader.storage.places import change_number, files_of, shown, stamped
from joader.storage.storage import Piece, Rows, Storage, Values
from joader.storage.tar_index import MISSING, TarIndex, indexed

KEY = "__key__"
NUMBER = "cls"


class TarShards(Storage):
    """The samples of tars, shard after shard; within a sample, images come first."""

    def __init__(
        self,
        shards: Sequence[str],
        *,
        columns: Sequence[str] | None = None,
        in_flight: int | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """Index the shards, or load their indexes."""
        if not shards:
            raise NoData("the list of tars is empty; give one or more")
        self.files, self.shards = files_of(shards, in_flight, settings)
        self.slow = self.files.slow
        stamps = self.files.stamps(self.shards)
        indexes = [
            indexed(self.files, name, size, change)
            for name, (size, change) in zip(self.shards, stamps, strict=True)
        ]
        # The index describes exactly these versions of the shards.
        self._stamps = {
            name: (size, change_number(change))
            for name, (size, change) in zip(self.shards, stamps, strict=True)
        }
        lengths = [len(index.keys) for index in indexes]
        self.length = sum(lengths)
        if not self.length:
            raise NoData(
                f"{', '.join(shards[:3])} have no samples; name members key.extension, as in "
                "WebDataset"
            )
        self._keys = _joined([index.keys for index in indexes])
        self._shard = np.repeat(np.arange(len(indexes), dtype=np.int32), lengths)
        names = dict.fromkeys(name for index in indexes for name in index.columns)
        self._places = {name: _column(indexes, name) for name in names}
        self._has_gaps = any((places[:, 1] == MISSING).any() for places in self._places.values())
        kinds = {name: "int64" if name == NUMBER else "bytes" for name in names}
        self.columns = {**kinds, KEY: "str"}
        self.choose(columns, sorted(names, key=lambda name: not f".{name}".endswith(EXTENSIONS)))

    def fetch(self, rows: Rows, columns: Sequence[str]) -> list[Values]:
        """Read members, those of all columns together."""
        parts = [
            (self.shards[shard], start, size)
            for name in columns
            if name != KEY
            for shard, (start, size) in zip(
                self._shard[rows].tolist(), self._places[name][rows].tolist(), strict=True
            )
        ]
        there = [part for part in parts if part[2] != MISSING] if self._has_gaps else parts
        bodies: list[Any] = self.files.read_parts(there, self._stamps)
        if len(there) < len(parts):
            found = iter(bodies)
            bodies = [next(found) if part[2] != MISSING else None for part in parts]
        values: list[Values] = []
        for name in columns:
            if name == KEY:
                values.append(self._keys.take(rows))
                continue
            mine, bodies = bodies[: len(rows)], bodies[len(rows) :]
            note(mine, partial(self._member, name), rows)
            values.append(self._numbers(rows, mine) if name == NUMBER else mine)
        return values

    def _member(self, column: str, row: np.int64) -> str:
        """Return which member a value is, for a message."""
        (key,) = self._keys.take(np.array([row]))
        return f"{key}.{column} of {self.files.path(self.shards[self._shard[row]])}"

    def _numbers(self, rows: Rows, bodies: list[bytes | None]) -> Values:
        try:
            numbers = [None if body is None else int(body) for body in bodies]
        except ValueError as error:
            wrong = next(n for n, body in enumerate(bodies) if not _is_number(body))
            raise BadData(
                f"{self._keys.take(rows)[wrong]}.cls holds {bodies[wrong]!r}; a class must be an "
                "integer"
            ) from error
        return numbers if None in numbers else np.array(numbers, np.int64)

    def place(self) -> str:
        """Return the shards."""
        return shown([self.files.path(name) for name in self.shards])

    def identity(self) -> tuple[Any, ...]:
        """Return the digest of places, sizes and times of change."""
        return (stamped(self.files, self.shards),)

    def pieces(self) -> list[Piece]:
        """Return the shards."""
        lengths = np.bincount(self._shard, minlength=len(self.shards)).tolist()
        return [
            (stamped(self.files, [shard]), rows)
            for shard, rows in zip(self.shards, lengths, strict=True)
        ]

    def close(self) -> None:
        """Close the shards."""
        super().close()
        self.files.close()


def _joined(parts: Sequence[Names]) -> Names:
    shifts = np.cumsum([0, *(len(part.blob) for part in parts)])
    ends = [part.ends + shift for part, shift in zip(parts, shifts[:-1], strict=True)]
    return Names(b"".join(part.blob for part in parts), np.concatenate(ends))


def _column(indexes: Sequence[TarIndex], name: str) -> Any:
    """Put the places of a column one after the other; a shard may have none."""
    return np.concatenate(
        [
            index.columns.get(name, np.full((len(index.keys), 2), MISSING, np.int64))
            for index in indexes
        ]
    )


def _is_number(body: bytes | None) -> bool:
    return body is None or body.strip().lstrip(b"+-").isdigit()
