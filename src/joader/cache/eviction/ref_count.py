"""The paper's RefCnt (3.2, E.3): what the fewest jobs will still ask for leaves first."""

import numpy as np
from numpy.typing import NDArray

from joader.cache.eviction.buckets import Buckets, Ranks
from joader.cache.eviction.policy import Known


class RefCount(Buckets):
    """Fewest needs first, then last admitted first."""

    def __init__(self, known: Known) -> None:
        """Start empty."""
        super().__init__(known, _needs)


def _needs(known: Known, samples: NDArray[np.int64]) -> Ranks:
    return known.demand.counts(known.table.home.all[samples])
