"""Several storages, one after the other, as one: what torch's ConcatDataset is to datasets.

Its pieces are those of its parts, so it shares samples with each of them, and with concatenations
in another order.
"""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from joader.storage.files import FileList
from joader.storage.places import shown
from joader.storage.storage import Piece, Rows, Storage, Values, fetch_parts


class Concatenation(Storage):
    """The rows of several storages that read alike."""

    def __init__(self, parts: Sequence[Storage]) -> None:
        """Put these storages one after the other; `joins` says whether that is possible."""
        self.parts = tuple(parts)
        self._starts = np.cumsum([0, *map(len, self.parts)])
        self.length = int(self._starts[-1])
        self.slow = any(part.slow for part in self.parts)
        known = [part.columns for part in self.parts]
        self.columns = {
            name: kind for name, kind in known[0].items() if all(name in other for other in known)
        }
        self.choose(self.parts[0].sample_columns, ())

    def fetch(self, rows: Rows, columns: Sequence[str]) -> list[Values]:
        """Read part by part."""
        which = np.searchsorted(self._starts, rows, "right") - 1

        def fetch(number: int, some: Rows) -> list[Values]:
            return self.parts[number].fetch(some - self._starts[number], columns)

        return fetch_parts(which, rows, len(columns), fetch)

    def at_hand(self, rows: Rows, name: str) -> Values:
        """Return labels or paths of files."""
        values = self.fetch(rows, [name])[0]
        return np.array(values, np.int64) if name == "label" else values

    @property
    def is_of_files(self) -> bool:
        """Whether all parts are lists of files."""
        return all(isinstance(part, FileList) for part in self.parts)

    def identity(self) -> tuple[Any, ...]:
        """Return the identities of its parts."""
        return tuple(part.identity() for part in self.parts)

    def reads_as(self) -> tuple[Any, ...]:
        """Return what each part reads as."""
        return self.parts[0].reads_as()

    def pieces(self) -> list[Piece] | None:
        """Return the pieces of all parts, if all have some."""
        found = [part.pieces() for part in self.parts]
        known = [pieces for pieces in found if pieces is not None]
        return [piece for pieces in known for piece in pieces] if len(known) == len(found) else None

    def narrowed(self, columns: Sequence[str]) -> Self:
        """Return the same rows with other columns in a sample."""
        return type(self)([part.narrowed(columns) for part in self.parts])

    def place(self) -> str:
        """Return where the first part lies, and how many more there are."""
        return shown([part.place() for part in self.parts])

    def close(self) -> None:
        """Close all parts."""
        super().close()
        for part in self.parts:
            part.close()


def joins(parts: Sequence[Any]) -> bool:
    """Return whether these are storages that read alike."""
    return (
        all(isinstance(part, Storage) and part.deterministic for part in parts)
        and len({part.reads_as() for part in parts}) == 1
    )
