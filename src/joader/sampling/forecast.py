"""What a pass will read, and when, as far as it is fixed: for prefetch and for eviction.

Only memory may use them: an order that preferred what is in memory would not be uniform.
"""

import numpy as np
from numpy.typing import NDArray

from joader.sampling.bits import Bits
from joader.sampling.blind import FREE, KNOWN, OWN, UNREAD
from joader.sampling.follower import Follower
from joader.sampling.generation import Generation
from joader.sampling.rows import Rows


def ahead(follower: Follower, count: int, newest: Generation, bits: Bits) -> Rows:
    """Return the numbers of the next rows, at most `count`, as they come if the pass does not jump.

    They end where it has still to be decided what the tail follows.
    """
    count = min(count, follower.left)
    order = follower.generation.order
    settled = not follower.following or newest is follower.generation
    if follower.marks is None:
        near = order[follower.pointer : follower.pointer + count]
        rest = count - near.size if settled else 0
        return np.concatenate([near, order[follower.around : follower.around + rest]])
    known = follower.classes(count, bits)
    others = int(np.count_nonzero(~known))
    free = follower.generation.order[:0]
    if follower.following:
        free = _unread(order[follower.pointer : follower.limit()], follower.marks, others)
    if free.size < others and settled and follower.limit() == order.size:
        # What lies behind the pointer; what lies ahead of it is among `free` already.
        behind = order[follower.around : follower.pointer if follower.following else order.size]
        free = np.concatenate([free, _unread(behind, follower.marks, others - free.size)])
    if free.size < others:
        known = known[: int(np.flatnonzero(~known)[free.size])]
    rows = np.empty(known.size, np.uint32)
    rows[~known] = free
    rows[known] = follower.known_ahead(int(np.count_nonzero(known)))
    return rows


def _unread(there: Rows, marks: NDArray[np.uint8], count: int) -> Rows:
    """Return the first `count` of these rows that are to be read as they come."""
    parts: list[Rows] = []
    step = max(4 * count, 64)
    for begin in range(0, there.size, step):
        if count <= 0:
            break
        piece = there[begin : begin + step]
        parts.append(piece[np.flatnonzero(marks[piece] == FREE)[:count]])
        count -= parts[-1].size
    return np.concatenate(parts) if parts else there[:0]


def next_use(follower: Follower, numbers: Rows) -> NDArray[np.float64]:
    """Return for each number how many draws away its next use by this job is."""
    generation = follower.generation
    places = generation.places()
    here = numbers < places.size
    place = places[numbers if here.all() else numbers * here].astype(np.float64)
    end, pointer = generation.size, follower.pointer if follower.following else generation.size
    free = follower.left - follower.known_left
    ahead = min(free, (end - pointer) * follower.rows.size / end)
    distance = (place - pointer) * (ahead / max(end - pointer, 1))
    behind = place < pointer
    missed = (free - ahead) / max(end - follower.around, 1)
    distance[behind] = ahead + (place[behind] - follower.around) * missed
    again = follower.left + follower.rows.size / 2
    if follower.marks is None:
        distance[behind & ((place >= follower.start) | (place < follower.around))] = again
        outside = place == end
    else:
        marks = follower.marks[np.minimum(numbers, follower.marks.size - 1)]
        distance[(marks & KNOWN) != 0] = follower.left / 2
        distance[(marks & UNREAD) == 0] = again
        outside = (marks & OWN) == 0
    distance[outside | ~here] = np.inf
    return distance
