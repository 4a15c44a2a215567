"""Rows grouped by the jobs that still need them: one cell per need mask.

A *cell* holds the rows that exactly the jobs of its mask have not read yet. Every row that a job
needs lies in exactly one cell, so what a job has not read is the union of the cells with its bit,
and what several jobs share is the union of the cells with all their bits. A row read by some of its
jobs moves to the cell of the others (the paper's "compensation"); a row read by all is gone.

This replaces the paper's dependent sampling tree (§4): the tree keeps n-1 nested intersections in
the order of the jobs' sizes and has to be rebuilt whenever one job overtakes another; cells have
no order. Any vertex of the tree is a union of cells. Cost: 4 bytes per row, whatever the number of
jobs.

The rows of a cell are in no particular order; a draw picks a random position and fills the hole
with the last row, so it costs the same in a cell of ten rows as in one of ten million.
"""

from array import array
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from joader.errors import OurError
from joader.sampling.bits import Bits
from joader.sampling.rows import NO_ROWS, OpenSet, Rows, RowSet


class Cell:
    """The rows that exactly the jobs of `mask` still need."""

    __slots__ = ("_rest", "mask", "rows")

    def __init__(self, mask: int, rows: "array[int]") -> None:
        """Make a cell of these rows."""
        self.mask = mask
        self.rows = rows
        self._rest: dict[int, Cell] = {}  # takers -> the cell their rows move to

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.rows)

    def view(self) -> Rows:
        """Return the rows without copying; drop the view before the cell changes."""
        return np.frombuffer(self.rows, np.uint32)


class Cells:
    """All cells of some jobs that can share work.

    `version` changes when jobs join or leave or empty cells are swept: drop any reference to a
    `Cell` then. Draws only move rows and add cells.
    """

    def __init__(self) -> None:
        """Start without rows."""
        self._by_mask: dict[int, Cell] = {}
        self.version = 0

    def __iter__(self) -> Iterator[Cell]:
        """Iterate over the cells in the order they were created."""
        return iter(self._by_mask.values())

    def __len__(self) -> int:
        """Return the number of cells, empty ones included."""
        return len(self._by_mask)

    def join(self, bit: int, rows: OpenSet) -> None:
        """Add a job, under a bit no cell has yet, that needs these rows."""
        split: dict[int, Cell] = {}
        cells = [cell for cell in self if cell.rows]
        # One lookup for all rows: a lookup per cell would pay NumPy's overhead up to 256 times.
        everything = self.rows()
        inside = rows.contains(everything)
        start = 0
        for cell in cells:
            here = slice(start, start := start + len(cell))
            _keep(split, cell.mask, everything[here][~inside[here]])
            _keep(split, cell.mask | bit, everything[here][inside[here]])
        _keep(split, bit, rows.without(everything[inside]))
        self._by_mask = split
        self.version += 1

    def leave(self, bit: int) -> None:
        """Remove a job; rows that others need stay with them."""
        merged: dict[int, Cell] = {}
        for cell in self:
            mask = cell.mask & ~bit
            if mask and cell.rows:
                _merge(merged, mask, cell.rows)
        self._by_mask = merged
        self.version += 1

    def restricted(self, jobs: int) -> "Cells":
        """Return a copy that knows only these jobs."""
        copy = Cells()
        for cell in self:
            if cell.mask & jobs and cell.rows:
                # Copied: the original keeps these rows for its other jobs.
                _merge(copy._by_mask, cell.mask & jobs, array("I", cell.rows))
        return copy

    def apart_from(self, other: "Cells") -> bool:
        """Return whether these cells have no row in common with those."""
        rows = OpenSet(RowSet(self.rows()))
        return not rows.contains(other.rows()).any()

    def absorb(self, other: "Cells", bits: Mapping[int, int]) -> None:
        """Take over cells that share no row with these; `bits` maps their old bits to new ones."""
        # A row in two cells would be handed to the same job twice.
        if not self.apart_from(other):
            raise OurError("cells with common rows cannot be merged; please report this")
        for cell in other:
            mask = sum(new for old, new in bits.items() if cell.mask & old)
            self._by_mask[mask] = Cell(mask, cell.rows)
        self.version += 1

    def sweep(self) -> None:
        """Drop empty cells."""
        self._by_mask = {mask: cell for mask, cell in self._by_mask.items() if cell.rows}
        for cell in self:
            cell._rest.clear()  # may name cells that were just dropped
        self.version += 1

    def rows(self) -> Rows:
        """Return the rows of all cells, in their order."""
        parts = [cell.view() for cell in self if cell.rows]
        return np.concatenate(parts) if parts else NO_ROWS

    def unread(self, bit: int) -> Rows:
        """Return the rows the job of this bit still needs, ascending."""
        parts = [cell.view() for cell in self if cell.mask & bit]
        return np.sort(np.concatenate(parts)) if parts else NO_ROWS

    def play(self, picks: list[tuple[Cell, int]], bits: Bits) -> list[int]:
        """Let the takers of each pick read a random row of its cell together.

        All rows are taken out before any is moved to the cell of the jobs that still need it: a row
        that one job reads in this round must not be available to another pick of the same round.
        """
        taken = []
        for cell, _ in picks:
            rows = cell.rows
            place = bits.below(len(rows))
            taken.append(rows[place])
            last = rows.pop()
            if place < len(rows):
                rows[place] = last
        for (cell, takers), row in zip(picks, taken, strict=True):
            if takers != cell.mask:
                rest = cell._rest.get(takers)
                if rest is None:
                    rest = cell._rest[takers] = self._cell(cell.mask & ~takers)
                rest.rows.append(row)
        return taken

    def take_many(self, takers: int, count: int, bits: Bits) -> NDArray[np.int64]:
        """Let the takers, who need the same rows, read `count` of them, and return them in order.

        Same law as `count` rounds of `play`, in a handful of array operations.
        """
        # The cells laid end to end, as if they were one: a rank is a position in that line.
        homes = [cell for cell in self if cell.mask & takers and cell.rows]
        ends = np.cumsum([len(cell) for cell in homes])
        ranks = bits.distinct_below(int(ends[-1]) if homes else 0, count)
        if len(homes) == 1:
            return self._cut(homes[0], ranks, takers).astype(np.int64)
        home = np.searchsorted(ends, ranks, side="right")
        drawn = np.empty(count, np.int64)
        for number, cell in enumerate(homes):
            mine = home == number
            start = int(ends[number]) - len(cell)
            drawn[mine] = self._cut(cell, ranks[mine] - start, takers)
        return drawn

    def _cut(self, cell: Cell, places: NDArray[np.int64], takers: int) -> Rows:
        """Take the rows at these places out of the cell, in this order."""
        keep = len(cell) - places.size
        view = cell.view()
        taken = view[places]
        # The cell is cut to its first `keep` rows. Holes before the cut are filled with the rows
        # after it that were not drawn: there are exactly as many of them.
        holes = places[places < keep]
        survivor = np.ones(places.size, np.bool_)
        survivor[places[places >= keep] - keep] = False
        fillers = view[keep:][survivor].copy()
        del view  # an array cannot be resized while a view of it exists
        rows = cell.rows
        del rows[keep:]
        np.frombuffer(rows, np.uint32)[holes] = fillers
        rest = cell.mask & ~takers
        if rest:
            self._cell(rest).rows.frombytes(taken.tobytes())
        return taken

    def _cell(self, mask: int) -> Cell:
        cell = self._by_mask.get(mask)
        if cell is None:
            cell = self._by_mask[mask] = Cell(mask, array("I"))
        return cell


def _keep(cells: dict[int, Cell], mask: int, rows: Rows) -> None:
    if rows.size:
        cells[mask] = Cell(mask, _array_of(rows))


def _merge(cells: dict[int, Cell], mask: int, rows: "array[int]") -> None:
    if mask in cells:
        cells[mask].rows.extend(rows)
    else:
        cells[mask] = Cell(mask, rows)


def _array_of(rows: Rows) -> "array[int]":
    result = array("I")
    result.frombytes(rows.tobytes())
    return result
