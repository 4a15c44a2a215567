"""What every storage is: rows 0 to n-1 with named columns, read many at a time as they are stored.

Reading only fetches: encoded images come as bytes. Preparing them (decoding, resizing) is another
package's work, so that the two can be balanced.

A storage is also a map-style dataset: `storage[row]` is a *sample*, the value of its one sample
column, or a tuple of the values of several, in their order. So it can be passed to
`joader.DataLoader`, or to torch's, as it is.

Invariants, which one test suite checks for every kind: a storage is fixed when it is opened, and
rows keep their numbers; it can be pickled, and reopens its handles in each process when they are
first used, even after a fork during a read of the parent; threads may read at the same time;
returned values belong to the caller and are never views of shared memory. `fingerprint()` looks at
sizes and times of change and reads no content; it is the same in every process, and changes with
the data. Not here: choosing the kind (opening.py), tables with names and versions (catalog).
"""

import copy
import json
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from joader.errors import BadArgument, BadRows, UnknownColumn, UnknownRow
from joader.storage.expected import Expected
from joader.storage.per_process import PerProcess

Rows: TypeAlias = npt.NDArray[np.int64]
Values: TypeAlias = (
    list[Any] | npt.NDArray[Any]
)  # of one column, in the order of the rows asked for

Piece: TypeAlias = tuple[str, int]  # a name that no other content has, and how many rows


class Storage(ABC):
    """Stored rows with named columns.

    Each kind sets `columns` (name to type: "bytes", "str", a NumPy dtype, or None if only reading
    shows it) and `length`, and implements `fetch` and `identity`.
    """

    slow: bool = False  # reading waits for a network, so it pays to begin ahead of time
    deterministic: ClassVar[bool] = True  # a row is the same each time it is read

    columns: Mapping[str, str | None]
    length: int
    sample_columns: tuple[str, ...]

    def choose(self, columns: Sequence[str] | None, default: Sequence[str]) -> None:
        """Set which columns make up a sample: those the user named, or else the default."""
        self.sample_columns = tuple(default if columns is None else self._known(columns))
        self._expected = PerProcess(Expected)
        if not self.sample_columns:
            raise BadArgument(f"columns is empty; a sample needs one or more of {self._names()}")

    @abstractmethod
    def fetch(self, rows: Rows, columns: Sequence[str]) -> list[Values]:
        """Return the values of each column; rows and columns are already checked."""

    @abstractmethod
    def identity(self) -> tuple[Any, ...]:
        """Return plain values that distinguish this content from any other, without a full read."""

    def place(self) -> str:
        """Return where the data is, if it has a place."""
        return ""

    def reads_as(self) -> tuple[Any, ...]:
        """Return, as plain values, what a sample is made of, apart from the storage's pieces."""
        return type(self).__name__, self.sample_columns

    def pieces(self) -> list[Piece] | None:
        """Return the pieces of the storage, in order, as `identity` last saw them.

        Storages with a piece in common and equal `reads_as` have the samples of its rows in common.
        None: it is one piece, of which no other storage has a part.
        """
        return None

    def whole(self) -> tuple[Any, Rows] | None:
        """Return the storage that this one is a selection of, and its rows; None if whole."""
        return None

    def narrowed(self, columns: Sequence[str]) -> Self:
        """Return the same rows with other columns in a sample."""
        other = copy.copy(self)
        other.choose(columns, ())
        return other

    def read(self, rows: Any, columns: Sequence[str] | None = None) -> dict[str, Values]:
        """Return the values of these rows for each column (None: the columns of a sample)."""
        names = self.sample_columns if columns is None else tuple(self._known(columns))
        return dict(zip(names, self.fetch(self._checked(rows), names), strict=True))

    def fingerprint(self) -> str:
        """Return the name of the content, the same in every process until the data changes."""
        plain = json.dumps([type(self).__name__, self.length, *self.identity()])
        return blake2b(plain.encode(), digest_size=16).hexdigest()

    def expect(self, row: int) -> None:
        """Begin to read a row whose sample is about to be asked for, if reading is slow."""
        if self.slow:
            self._expected.get().begin(row, self._sample)

    def read_at_once(self, reads: int) -> None:
        """Keep up to `at_once` reads of announced rows under way in this process."""
        if self.slow:
            self._expected.get().limit(reads)

    def close(self) -> None:
        """Release open files, memory maps and threads; reading opens them again."""
        expected = self._expected.take()
        if expected is not None:
            expected.close()

    def __len__(self) -> int:
        """Count the rows."""
        return self.length

    def __getitem__(self, row: int) -> Any:
        """Return one sample."""
        try:
            number = operator.index(row)
        except TypeError as error:
            raise BadRows(f"row is {row!r}; it must be an integer") from error
        if not 0 <= number < self.length:
            raise self._unknown(number)
        begun = self._expected.get().take(number) if self.slow else None
        return self._sample(number) if begun is None else begun.result()

    def __getitems__(self, rows: Sequence[int]) -> list[Any]:
        """Return many samples, read together."""
        values = self.fetch(self._checked(rows), self.sample_columns)
        return list(values[0]) if len(values) == 1 else list(zip(*values, strict=True))

    def __repr__(self) -> str:
        """Say what is stored."""
        return f"{type(self).__name__}({self.length} rows, columns {self._names()})"

    def __enter__(self) -> "Storage":
        """Close at the end of the block."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close."""
        self.close()

    def _sample(self, row: int) -> Any:
        values = self.fetch(np.array([row]), self.sample_columns)
        return values[0][0] if len(values) == 1 else tuple(value[0] for value in values)

    def _names(self) -> str:
        return ", ".join(map(repr, self.columns))

    def _known(self, columns: Sequence[str]) -> Iterable[str]:
        if isinstance(columns, str):
            raise BadArgument(f"columns is {columns!r}; pass a list of names: [{columns!r}]")
        for name in columns:
            if name not in self.columns:
                raise UnknownColumn(f"there is no column {name!r}; the columns are {self._names()}")
        return columns

    def _checked(self, rows: Any) -> Rows:
        """Return rows as an array of numbers that the storage has."""
        numbers = np.asarray(rows)
        if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
            raise BadRows(
                f"rows have dtype {numbers.dtype} and shape {numbers.shape}; give a flat array of "
                "integers"
            )
        known = numbers.astype(np.int64, copy=False)
        # As unsigned integers, negative numbers are larger than any length.
        if known.size and known.view(np.uint64).max() >= self.length:
            raise self._unknown(known[(known < 0) | (known >= self.length)][0])
        return known

    def _unknown(self, row: int) -> UnknownRow:
        return UnknownRow(
            f"row {row} does not exist: the storage has {self.length} rows, numbered from 0"
        )


def fetch_parts(
    which: Rows, rows: Rows, columns: int, fetch: Callable[[int, Rows], list[Values]]
) -> list[Values]:
    """Return values of rows that lie in several parts, asking each part once.

    `which` is the part of each row; `fetch` reads these rows of a part, numbered as they are here.
    """
    numbers = [int(which[0])] if len(rows) == 1 else np.unique(which).tolist()
    if len(numbers) == 1:
        return fetch(numbers[0], rows)
    found: list[list[Any]] = [[None] * len(rows) for _ in range(columns)]
    for number in numbers:
        at = np.flatnonzero(which == number)
        for column, some in zip(found, fetch(number, rows[at]), strict=True):
            for place, value in zip(at.tolist(), some, strict=True):
                column[place] = value
    return list(found)
