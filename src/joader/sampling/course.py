"""A generation of a single set of rows, made again from its key wherever that set is known.

So a stretch of it travels as two numbers: nodes that plan for each other need not send rows.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from joader.sampling.generation import Key, shuffled
from joader.sampling.row_index import RowIndex
from joader.sampling.rows import RowSet


def course(key: Key, rows: ArrayLike) -> NDArray[np.int64]:
    """Return the order of these rows in the generation of this key."""
    present = RowSet(rows)
    index = RowIndex(present)
    return index.rows(shuffled(key, index.numbers(present), index.span))
