"""Room between pinned samples: what is left if no slot of a size, and no whole run, can be freed.

The one search through all samples in this room. It happens only if memory is full, and something
of every run is pinned.
"""

import numpy as np

from joader.cache.table import PREPARING, Table


def smallest_gap(table: Table, size: int, capacity_bytes: int) -> tuple[int, list[int]] | None:
    """Return where the smallest room of this size starts, and who is in it; None without one."""
    placed = np.flatnonzero((table.state.all > 0) & (table.offset.all >= 0))
    held = placed[(table.pins.all[placed] > 0) | (table.state.all[placed] == PREPARING)]
    held = held[np.argsort(table.offset.all[held])]
    ends = np.r_[0, table.offset.all[held] + table.size.all[held]]
    rooms = np.r_[table.offset.all[held], capacity_bytes] - ends
    enough = np.flatnonzero(rooms >= size)
    if not enough.size:
        return None
    start = int(ends[enough[np.argmin(rooms[enough])]])
    inside = placed[
        (table.offset.all[placed] < start + size)
        & (table.offset.all[placed] + table.size.all[placed] > start)
    ]
    return start, inside.tolist()
