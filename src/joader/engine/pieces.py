"""Row numbers that jobs agree on whose datasets have only some pieces in common.

A dataset may say which *pieces* it consists of, one after the other (the files of a folder, a
shard), each under a name that no other content has. Where two datasets that are read and prepared
in the same way (the same *ground*) have pieces in common, as a folder and its sub-folder do, their
jobs read one recipe: here each piece gets its rows in it when the first job brings it.

Each dataset keeps the name of its own *code*, which reads rows by its own numbers. To prepare a row
of the recipe, any code will do that has the piece.

Invariant: a piece keeps its rows in a recipe as long as the engine knows the recipe, which may be
longer than it has jobs: what was prepared serves the next. A name that the engine has forgotten is
never used again, so that nothing prepared under old numbers is taken for new ones.

Grounds that read rows alike but prepare them in other ways share their numbering: so the raw form
of a row, kept by one, has the same number for the others.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from joader.errors import BadArgument

# Room for datasets that come later: jobs share only if they agree on how many rows there are.
_LEAST_LIMIT = 1 << 22

Array: TypeAlias = NDArray[np.int64]
Piece: TypeAlias = tuple[str, int]  # its name, and how many rows it has


class Numbered(NamedTuple):
    """The rows of a job as rows of a recipe, and of that of the rows as they are stored."""

    recipe: str
    rows: Array
    row_limit: int
    stored: str = ""


@dataclass
class _Place:
    """Where a piece starts: in the recipe, and in the datasets that have it, by recipe and code."""

    first: int
    rows: int
    starts: dict[str, dict[str, int]] = field(default_factory=dict)

    def of(self, recipe: str) -> dict[str, int]:
        return self.starts.get(recipe, {})


class _Numbering:
    """Consecutive pieces, numbered for all recipes whose rows are read alike."""

    def __init__(self, number: int, ground: str, row_limit: int) -> None:
        self.number, self.ground, self.row_limit = number, ground, row_limit
        self.recipes: set[str] = set()
        self.jobs: Counter[tuple[str, str]] = Counter()  # by recipe and code
        self._places: dict[Piece, _Place] = {}
        self._in_order: list[_Place] = []
        self._firsts: list[int] = []
        self._end = 0

    def shared_rows(self, pieces: Sequence[Piece]) -> int:
        return sum(piece[1] for piece in set(pieces) if piece in self._places)

    def has_room(self, pieces: Sequence[Piece]) -> bool:
        new = sum(piece[1] for piece in set(pieces) if piece not in self._places)
        return self._end + new <= self.row_limit

    def name(self, ground: str) -> str:
        name = f"{ground} #{self.number}"
        self.recipes.add(name)
        return name

    def join(self, recipe: str, code: str, pieces: Sequence[Piece], rows: Array) -> Array:
        self.jobs[recipe, code] += 1
        starts = np.cumsum([0, *(count for _, count in pieces)])
        shifts = np.empty(len(pieces), np.int64)
        for number, (piece, start) in enumerate(zip(pieces, starts.tolist(), strict=False)):
            place = self._places.get(piece) or self._add(piece)
            place.starts.setdefault(recipe, {})[code] = start
            shifts[number] = place.first - start
        return rows + shifts[np.searchsorted(starts, rows, "right") - 1]

    def _add(self, piece: Piece) -> _Place:
        place = self._places[piece] = _Place(self._end, piece[1])
        if place.rows:
            self._in_order.append(place)
            self._firsts.append(place.first)
        self._end += place.rows
        return place

    def leave(self, recipe: str, code: str) -> None:
        self.jobs[recipe, code] -= 1
        if not self.jobs[recipe, code]:
            del self.jobs[recipe, code]
            for place in self._places.values():
                place.of(recipe).pop(code, None)

    def own_rows(self, recipe: str, code: str, rows: NDArray[np.integer[Any]]) -> Array:
        shifts = [place.of(recipe).get(code, 0) - place.first for place in self._in_order]
        found = np.searchsorted(self._firsts, rows, "right") - 1
        return rows.astype(np.int64) + np.array(shifts, np.int64)[found]

    def locate(self, recipe: str, row: int, liked: str) -> tuple[str, int] | None:
        place = self._in_order[bisect_right(self._firsts, row) - 1]
        starts = place.of(recipe)
        if not starts:
            return None
        code = liked if liked in starts else next(iter(starts))
        return code, starts[code] + row - place.first


class Pieces:
    """All recipes that are made of pieces."""

    def __init__(self) -> None:
        """Start without any."""
        self._recipes: dict[str, _Numbering] = {}
        self._made = 0

    def __len__(self) -> int:
        """Return how many recipes there are."""
        return len(self._recipes)

    def join(
        self, ground: str, code: str, pieces: Sequence[Piece], rows: Array, stored: str = ""
    ) -> Numbered:
        """Number the rows of a job that comes with these pieces.

        `stored`: the ground of jobs that read the rows alike and prepare nothing.
        """
        reads = stored or ground
        total = sum(count for _, count in pieces)
        if rows.size and not (int(rows.min()) >= 0 and int(rows.max()) < total):
            raise BadArgument(f"rows must lie in [0, {total}), the rows of all pieces")
        all_of_them = dict.fromkeys(self._recipes.values())
        fits = [one for one in all_of_them if one.ground == reads and one.has_room(pieces)]
        numbering = max(fits, key=lambda fit: fit.shared_rows(pieces), default=None)
        if numbering is None:
            limit = _LEAST_LIMIT
            while limit < total:
                limit *= 4
            self._made += 1
            numbering = _Numbering(self._made, reads, limit)
        names = [numbering.name(each) for each in (ground, reads)]
        self._recipes.update(dict.fromkeys(names, numbering))
        numbered = numbering.join(names[0], code, pieces, rows)
        return Numbered(names[0], numbered, numbering.row_limit, names[1] if stored else "")

    def leave(self, recipe: str, code: str) -> None:
        """Note that a job has left."""
        self._recipes[recipe].leave(recipe, code)

    def forget_all_but(self, known: Callable[[str], bool]) -> None:
        """Drop recipes without jobs that the engine knows no more."""
        for numbering in dict.fromkeys(self._recipes.values()):
            if not numbering.jobs and not any(map(known, numbering.recipes)):
                for name in numbering.recipes:
                    del self._recipes[name]

    def has(self, recipe: str) -> bool:
        """Tell whether a recipe is made of pieces."""
        return recipe in self._recipes

    def locate(self, recipe: str, row: int, liked: str = "") -> tuple[str, int] | None:
        """Return a code that can read a row, and its number there; None if no code can.

        A recipe that is not made of pieces has its own code. `liked`: the code to prefer.
        """
        found = self._recipes.get(recipe)
        return (recipe, row) if found is None else found.locate(recipe, row, liked)

    def own_rows(self, recipe: str, code: str, rows: NDArray[np.integer[Any]]) -> Array:
        """Return rows of a recipe as the dataset of this code numbers them, which has them all."""
        return self._recipes[recipe].own_rows(recipe, code, rows)
