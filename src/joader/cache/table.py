"""One table of all samples that are here or in preparation: a number each, one array per field.

A row of a dataset is *absent* while the table has no sample of it. A sample is

| state     | its bytes                              | pins                                    |
| --------- | -------------------------------------- | --------------------------------------- |
| preparing | nowhere, or a slot that a worker fills | of jobs that wait for it; never leaves  |
| ready     | in its slot                            | of jobs that use it; may leave at 0     |

and a preparation that fails leaves no trace here. Numbers are reused: the number of a sample that
has gone is the next one's. *Home* is the number of the row that a sample was prepared from; the
first sample of a row is found by it, further ones (`extras`, of datasets with random code) in the
order in which they were added, and those made for one job alone (*own*) not at all.

A field is a `Column`: reading a cell of a NumPy array takes 80 ns, of `array.array` 25 ns, so a
column offers both views of the same bytes, for one sample and for many.

Invariant: a number is in use from `add` to `remove`. Not here: who decides (engine/), which bytes
are free (runs.py), which sample leaves first (eviction/).
"""

from array import array
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from joader.errors import BadArgument

FREE, PREPARING, READY = 0, 1, 2
# Up to this number cells are written one by one: arrays cost more.
FEW = 8
NOWHERE = -1
NOBODY = -1

Ids = NDArray[np.int64]


class Table:
    """All fields of all samples; only `add` and `remove` change which numbers are in use."""

    def __init__(self, size: int = 1024) -> None:
        """Start empty."""
        self.state = Column("b", size)
        self.own = Column("b", size)  # 1: one job's alone
        self.home = Column("q", size)
        self.offset = Column("q", size, NOWHERE)
        self.size = Column("q", size)  # of its slot, in bytes; 0 without one
        self.pins = Column("i", size)
        self.admitted = Column("q", size)  # which reservation gave it its bytes
        self.serial = Column("q", size)  # never reused, unlike numbers
        self.copied = Column("b", size)  # 1: another node keeps it, and sends it again
        self.claimed = Column("q", size, NOBODY)  # the job for which its preparation counts
        self._columns = [
            *(self.state, self.own, self.home, self.offset, self.size),
            *(self.pins, self.admitted, self.serial, self.claimed, self.copied),
        ]
        self._vacant = list(range(size - 1, -1, -1))
        self._made = 0
        self.first: dict[int, int] = {}  # by home
        self.extras: dict[int, list[int]] = {}  # by home

    def __len__(self) -> int:
        """Return how many samples there are."""
        return len(self.state.cells) - len(self._vacant)

    def add(self, home: int, own: bool = False) -> int:
        """Return a number for a sample of a row, which is now in preparation and has no slot."""
        if not self._vacant:
            self._grow()
        sample = self._vacant.pop()
        self._made += 1
        self.serial.cells[sample] = self._made
        self.state.cells[sample] = PREPARING
        self.home.cells[sample] = home
        if own:
            self.own.cells[sample] = 1
        elif home in self.first:
            self.extras.setdefault(home, []).append(sample)
        else:
            self.first[home] = sample
        return sample

    def remove(self, *samples: int) -> None:
        """Forget samples; their slots must have been given back."""
        homes, own = self.home.cells, self.own.cells
        for sample in samples:
            if not own[sample]:
                self._unlist(sample, homes[sample])
        if len(samples) <= FEW:
            for sample in samples:
                self.state.cells[sample] = FREE
                self.own.cells[sample] = self.copied.cells[sample] = 0
                self.pins.cells[sample] = 0
                self.claimed.cells[sample] = NOBODY
        else:
            here = np.array(samples, np.int64)
            self.state.all[here] = FREE
            self.own.all[here] = self.copied.all[here] = 0
            self.pins.all[here] = 0
            self.claimed.all[here] = NOBODY
        self._vacant += samples

    def _unlist(self, sample: int, home: int) -> None:
        """Make sure a sample is not found by its row any more."""
        if not self.extras and self.first[home] == sample:
            del self.first[home]
            return
        if self.first.get(home) == sample:
            del self.first[home]
        else:
            self.extras[home].remove(sample)
        # If another sample of the row is left, it is the first now.
        if home not in self.first and (others := self.extras.get(home)):
            self.first[home] = others.pop(0)
        if not self.extras.get(home, True):
            del self.extras[home]

    def check_preparing(self, sample: int) -> None:
        """Raise BadArgument if a sample is not in preparation."""
        if self.state.cells[sample] != PREPARING:
            raise BadArgument(f"sample {sample} is not in preparation; reserve it first")

    def check_placed(self, sample: int) -> None:
        """Raise BadArgument if a sample is not in preparation, with a slot."""
        self.check_preparing(sample)
        if self.offset.cells[sample] == NOWHERE:
            raise BadArgument(f"sample {sample} has no slot; reserve it first")

    def all_of(self, home: int) -> list[int]:
        """Return the samples of a row, but for those of one job alone."""
        first = self.first.get(home)
        return [] if first is None else [first, *self.extras.get(home, ())]

    def of_each(self, homes: Collection[int]) -> list[int]:
        """Return all samples of these rows, but for those of one job alone."""
        find = self.first.get
        found = [sample for home in homes if (sample := find(home)) is not None]
        if self.extras:
            found += [s for home in self.extras.keys() & set(homes) for s in self.extras[home]]
        return found

    def firsts_of(self, homes: Sequence[int]) -> list[int]:
        """Return the first sample of each row, -1 if there is none."""
        find = self.first.get
        return [find(home, -1) for home in homes]

    def everyone(self) -> Ids:
        """Return all samples."""
        return np.flatnonzero(self.state.all)

    def _grow(self) -> None:
        before = len(self.state.cells)
        for column in self._columns:
            column.grow(2 * before)
        self._vacant = list(range(2 * before - 1, before - 1, -1)) + self._vacant


_DTYPES = {"b": np.int8, "i": np.int32, "q": np.int64}


class Column:
    """Integers of one width by the number of a sample; `cells` one by one, `all` as an array."""

    __slots__ = ("_fill", "all", "cells")

    def __init__(self, width: str, size: int, fill: int = 0) -> None:
        """Start with this value everywhere; the width is that of `array`: b, i or q."""
        self._fill = fill
        self.cells: array[int] = array(width, [fill]) * size
        self.all: NDArray[Any] = np.frombuffer(self.cells, _DTYPES[width])

    def grow(self, size: int) -> None:
        """Make room for `size` values; views that were taken before go stale."""
        more = array(self.cells.typecode, [self._fill]) * (size - len(self.cells))
        # A new array: one that a view looks into cannot grow.
        self.cells = array(self.cells.typecode, self.cells) + more
        self.all = np.frombuffer(self.cells, _DTYPES[self.cells.typecode])
