"""Storages whose rows lie in chunks, one after the other: row groups of Parquet, batches of Arrow.

A read visits each chunk once, however its rows are spread, and gives the values in the order asked.
"""

from abc import abstractmethod
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np

from joader.storage.arrow_values import Taker
from joader.storage.storage import Rows, Storage, Values


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
        if len(rows) == 1:
            return self._one(int(rows[0]), columns)
        which = np.searchsorted(self.starts, rows, "right") - 1
        order = np.argsort(which, kind="stable")
        sorted_chunks = which[order]
        bounds = np.flatnonzero(np.diff(sorted_chunks)) + 1
        pieces: list[list[Values]] = [[] for _ in columns]
        for at in np.split(order, bounds) if len(rows) else []:
            chunk = int(which[at[0]])
            places = rows[at] - self.starts[chunk]
            for number, take in enumerate(self.takers(chunk, columns)):
                pieces[number].append(take(places))
        return [_in_order(parts, order) for parts in pieces]

    def _one(self, row: int, columns: Sequence[str]) -> list[Values]:
        chunk = int(np.searchsorted(self.starts, row, "right")) - 1
        place = np.array([row - self.starts[chunk]])
        return [take(place) for take in self.takers(chunk, columns)]


def _in_order(pieces: Sequence[Values], order: Rows) -> Values:
    """Put the values of chunks back in the order asked for."""
    arrays = [piece for piece in pieces if isinstance(piece, np.ndarray)]
    if pieces and len(arrays) == len(pieces):
        joined = np.concatenate(arrays)
        values = np.empty_like(joined)
        values[order] = joined
        return values
    back: list[Any] = [None] * len(order)
    for at, value in zip(order.tolist(), chain.from_iterable(pieces), strict=True):
        back[at] = value
    return back
