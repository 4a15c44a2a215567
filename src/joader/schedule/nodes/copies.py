"""What leaves the memory of a node first, if other nodes may have copies.

Ours: what nobody will use; then what another node holds too, the farthest next use *here* first;
then last copies, the farthest next use *anywhere* first. So the last copy in the cluster stays
longest: losing another costs a transfer, losing that one a read from storage.

Lobster's rules (section 4.4) are here for comparison. They say what may leave early, not who is
first; in its terms iterations are counted over all nodes, I per epoch.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

UNUSED, COPIED, LAST = 0, 1, 2  # classes, in the order in which they leave


def leaving_order(
    next_use_here: ArrayLike, next_use_anywhere: ArrayLike, copies: ArrayLike
) -> NDArray[np.intp]:
    """Return the places of the samples in the order in which they leave.

    Next uses are in seconds, infinite for never; `copies` counts the nodes that hold it, this one
    included. Of equals the first given leaves first.
    """
    here = np.asarray(next_use_here, np.float64)
    anywhere = np.asarray(next_use_anywhere, np.float64)
    last = np.asarray(copies, np.int64) <= 1
    kind = np.where(last, LAST, COPIED)
    kind[np.isinf(anywhere)] = UNUSED
    away = np.where(last, anywhere, here)
    # lexsort's last key is the first to sort by, and it is stable.
    return np.lexsort((-away, kind))


def lobster_leaves(
    next_use: ArrayLike, copies: ArrayLike, iteration: int, per_epoch: int
) -> NDArray[np.bool_]:
    """Return which samples Lobster evicts early, after this iteration of the current epoch.

    `next_use` counts iterations to the next use on this node, infinite for never. Reuse count: what
    has no further use here leaves, unless it is the only copy. Reuse distance: what is not used
    here before the end of the next epoch leaves too.
    """
    away = np.asarray(next_use, np.float64)
    never = np.isinf(away)
    only_copy = np.asarray(copies, np.int64) <= 1
    too_far = away > 2 * per_epoch - iteration
    return np.asarray(np.where(never, ~only_copy, too_far), np.bool_)
