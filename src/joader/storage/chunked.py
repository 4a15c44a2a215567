"""Storages whose rows lie in chunks, one after the other: row groups of Parquet, batches of Arrow.

A read visits each chunk once, however its rows are spread, and returns the values in the order of
the request.
"""

from abc import abstractmethod
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np

from joader.storage.arrow_values import Taker
from joader.storage.storage import Rows, Storage, Values

# With fewer rows per chunk than this, one by one is faster than NumPy's calls for each chunk.
FEW = 8


class Chunked(Storage):
    """Rows in chunks; `set_chunks` says how many each has."""

    def set_chunks(self, lengths: Sequence[int]) -> None:
        """Lay chunks of these lengths one after the other."""
        self.starts = np.cumsum([0, *lengths])
        self.length = int(self.starts[-1])

    @abstractmethod
    def takers(self, chunk: int, columns: Sequence[str]) -> list[Taker]:
        """Return what takes values out of these columns of a chunk."""

    def fetch(self, rows: Rows, columns: Sequence[str]) -> list[Values]:
        """Read chunk by chunk."""
        if not len(rows):
            return [take.many(rows) for take in self.takers(0, columns)]
        if len(rows) == 1:
            chunk = int(np.searchsorted(self.starts, rows[0], "right")) - 1
            place = rows - self.starts[chunk]
            return [take.many(place) for take in self.takers(chunk, columns)]
        which = np.searchsorted(self.starts, rows, "right") - 1
        places = rows - self.starts[which]
        order = np.argsort(which, kind="stable")
        bounds = np.flatnonzero(np.diff(which[order])) + 1
        if FEW * (len(bounds) + 1) > len(rows):
            return self._row_by_row(which[order], places[order], order, columns)
        pieces: list[list[Values]] = [[] for _ in columns]
        takers: list[Taker] = []
        for at in np.split(order, bounds):
            takers = self.takers(int(which[at[0]]), columns)
            for parts, take in zip(pieces, takers, strict=True):
                parts.append(take.many(places[at]))
        return [_in_order(parts, order, take) for parts, take in zip(pieces, takers, strict=True)]

    def _row_by_row(
        self, chunks: Rows, places: Rows, order: Rows, columns: Sequence[str]
    ) -> list[Values]:
        """Read rows that are sorted by chunk, a few in each."""
        found: list[list[Any]] = [[None] * len(order) for _ in columns]
        last = -1
        takers: list[Taker] = []
        for chunk, place, at in zip(chunks.tolist(), places.tolist(), order.tolist(), strict=True):
            if chunk != last:
                takers = self.takers(chunk, columns)
                last = chunk
            for values, take in zip(found, takers, strict=True):
                values[at] = take.one(place)
        return [_together(values, take) for values, take in zip(found, takers, strict=True)]


def _in_order(pieces: Sequence[Values], order: Rows, take: Taker) -> Values:
    """Put the values of chunks back in the order asked for."""
    arrays = [piece for piece in pieces if isinstance(piece, np.ndarray)]
    if len(arrays) == len(pieces):
        joined = np.concatenate(arrays)
        values = np.empty_like(joined)
        values[order] = joined
        return values
    back: list[Any] = [None] * len(order)
    for at, value in zip(order.tolist(), chain.from_iterable(pieces), strict=True):
        back[at] = value
    return _together(back, take)


def _together(values: list[Any], take: Taker) -> Values:
    """Make an array of values if they are of that kind and none is missing."""
    is_array = take.in_array and not any(value is None for value in values)
    return np.array(values) if is_array else values
