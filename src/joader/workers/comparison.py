"""Whether a row comes out here as another job's worker has made it."""

from collections.abc import Callable

import numpy as np

from joader.memory import Arena, pack
from joader.memory.contents import contents
from joader.memory.layout import any_objects
from joader.messages import Compare, Compared
from joader.recipe.parts import SharedPart


def compared(
    order: Compare, shared: SharedPart, step: Callable[[int], None] | None, arena: Arena
) -> Compared:
    """Prepare a row once more, and compare it with what lies in its slot.

    Objects are compared only as far as they have a layout: equal ones may be pickled otherwise.
    """
    mine = pack(shared.prepare(order.row, None, step))
    if mine.layout.to_bytes() != order.layout:
        return Compared(order.job, order.sample, any_objects(mine.layout))
    size = mine.layout.size_bytes
    bytes_here = np.zeros(max(1, size), np.uint8)
    mine.write(bytes_here)
    there = contents(mine.layout, arena.slot(order.offset, size))
    pairs = zip(contents(mine.layout, bytes_here[:size]), there, strict=True)
    same = all(np.array_equal(here, other) for here, other in pairs)
    return Compared(order.job, order.sample, same or any_objects(mine.layout))
