"""How much of what may leave is needed by several jobs, and by one: for who looks, not to decide.

With many samples a part of them is looked at, evenly spread over the table: whoever looks must not
hold up those who read.
"""

import numpy as np

from joader.cache.demand import Demand
from joader.cache.table import READY, Table

# Looking at so many takes about a millisecond per eight jobs.
MOST_SEEN = 1 << 14


def parts_by_need(table: Table, demand: Demand) -> tuple[float, float]:
    """Return which parts, 0 to 1, of the bytes that may leave several jobs need, and one does."""
    free = np.flatnonzero((table.state.all == READY) & (table.pins.all == 0))
    if not free.size:
        return 0.0, 0.0
    seen = free[:: -(-free.size // MOST_SEEN)]
    sizes, needs = table.size.all[seen], demand.counts(table.home.all[seen])
    total = float(sizes.sum())
    return float(sizes[needs > 1].sum()) / total, float(sizes[needs == 1].sum()) / total
