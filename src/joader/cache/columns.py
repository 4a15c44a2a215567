"""A field of all samples: one array, read one by one or many at a time.

Reading a cell of a NumPy array costs 80 ns, of `array.array` 25, and a NumPy view of the same bytes
serves where there are many.
"""

from array import array
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
        """Have room for so many; views that were taken before are not written to any more."""
        more = array(self.cells.typecode, [self._fill]) * (size - len(self.cells))
        # Anew: an array that a view looks into cannot grow.
        self.cells = array(self.cells.typecode, self.cells) + more
        self.all = np.frombuffer(self.cells, _DTYPES[self.cells.typecode])
