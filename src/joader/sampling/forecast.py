"""What a pass will read, and when, as far as it is fixed: for prefetch and for eviction.

Only decisions about memory may use it: an order that preferred rows in memory would not be uniform.
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
    """Return the first `count` of these rows that the pass reads as they come."""
    parts: list[Rows] = []
    step = max(4 * count, 64)
    for begin in range(0, there.size, step):
        if count <= 0:
            break
        piece = there[begin : begin + step]
        parts.append(piece[np.flatnonzero(marks[piece] == FREE)[:count]])
        count -= parts[-1].size
    return np.concatenate(parts) if parts else there[:0]


def places_of(generation: Generation, numbers: Rows) -> NDArray[np.float64]:
    """Return the place of each number in a generation; the end for those that it does not have."""
    places = generation.places()
    here = numbers < places.size
    if here.all():
        return places[numbers].astype(np.float64)
    found = np.full(numbers.size, float(generation.size))
    found[here] = places[numbers[here]]
    return found


def next_use(
    follower: Follower, numbers: Rows, place: NDArray[np.float64], once: bool = False
) -> NDArray[np.float64]:
    """Return for each number, with its place, how many draws away its next use by this job is.

    A row that was read counts half a pass after this one ends, unless it is of use `once`.
    """
    end, pointer = follower.generation.size, follower.pointer
    if not follower.following:
        pointer = end
    again = np.inf if once else follower.left + follower.rows.size / 2
    if follower.marks is None:  # the pass is the order, cut at its start
        distance = place - pointer
        read = place < pointer
        if follower.start > follower.around:
            missed = read & (place >= follower.around) & (place < follower.start)
            distance[missed] += end - follower.around  # once more around
            read &= ~missed
        distance[read] = again
        distance[place == end] = np.inf
        return distance
    free = follower.left - follower.known_left
    ahead = min(free, (end - pointer) * follower.rows.size / end)
    distance = (place - pointer) * (ahead / max(end - pointer, 1))
    behind = place < pointer
    rest = (free - ahead) / max(end - follower.around, 1)
    distance[behind] = ahead + (place[behind] - follower.around) * rest
    marks = follower.marks[np.minimum(numbers, follower.marks.size - 1)]
    distance[(marks & KNOWN) != 0] = follower.left / 2
    distance[(marks & UNREAD) == 0] = again
    distance[((marks & OWN) == 0) | (place == end)] = np.inf
    return distance


def next_use_one(follower: Follower, number: int, once: bool = False) -> float:
    """Return the same for one number: without arrays if the pass has no marks."""
    places = follower.generation.places()
    if follower.marks is not None or number >= places.size:
        numbers = np.array([number], np.uint32)
        place = places_of(follower.generation, numbers)
        return float(next_use(follower, numbers, place, once)[0])
    at, end = int(places[number]), follower.generation.size
    pointer = follower.pointer if follower.following else end
    if at == end:
        return np.inf
    if at >= pointer:
        return at - pointer
    if follower.around <= at < follower.start:
        return at - pointer + end - follower.around
    return np.inf if once else follower.left + follower.rows.size / 2
