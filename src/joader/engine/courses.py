"""Steps of a job over several nodes as they travel: stretches of a generation instead of rows.

A node that knows a job's rows can make the order of a generation from its key, so a step of a
thousand ranks is two numbers: a first place and a count. Places that were passed over, and rows
that are drawn out of turn, add more such pairs; if these would take more bytes than the positions,
the positions are sent.

Both sides use one `Courses`. Not here: what each rank is told (teams.py), which rank gets which row
(schedule/nodes/step_parts.py).
"""

from collections import OrderedDict

import numpy as np

from joader.engine.plan import Drawn
from joader.errors import BadArgument
from joader.messages import Array
from joader.messages.ranks import Course, Piece
from joader.sampling import StreamSampler
from joader.sampling.course import course
from joader.sampling.job_rows import JobRows

# Orders that are kept: the latest, and the one before it, whose steps may still be in transit.
_MOST_KEPT = 2
# Of a pair of numbers in a message; a position takes eight bytes.
_PAIR_BYTES = 8
_POSITION_BYTES = 8


class Courses:
    """The orders that one job's steps are cut from."""

    def __init__(self, rows: JobRows) -> None:
        """Start with no order known."""
        self._rows = rows
        self._orders: OrderedDict[Course, Array] = OrderedDict()  # positions, by place
        self._places: OrderedDict[Course, Array] = OrderedDict()  # places, by position

    def pack(self, positions: Array, repeated: int, version: int, plan: Drawn) -> Piece:
        """Return a step that this plan has drawn, in its shortest form."""
        self._follow(plan)
        best = Piece(rows=positions, repeated=repeated, version=version)
        least = _POSITION_BYTES * positions.size
        for key in reversed(self._places):
            spans = _spans(self._places[key][positions])
            if _PAIR_BYTES * spans.size // 2 < least:
                least = _PAIR_BYTES * spans.size // 2
                best = Piece(tuple(spans.tolist()), key, repeated=repeated, version=version)
        return best

    def unpack(self, piece: Piece) -> Array:
        """Return the positions of a step, in the order in which they were drawn."""
        if piece.course is None:
            positions = piece.rows
        else:
            order = self._order(piece.course)
            pairs = np.array(piece.spans, np.int64).reshape(-1, 2)
            if pairs.size and int(pairs.sum(1).max()) > order.size:
                raise BadArgument(f"a step reaches beyond the {order.size} places of its order")
            stretches = [order[first : first + count] for first, count in pairs.tolist()]
            positions = np.concatenate(stretches) if stretches else order[:0]
        if not 0 <= piece.repeated <= positions.size:
            raise BadArgument(f"a step of {positions.size} positions repeats {piece.repeated}")
        return positions

    def _follow(self, plan: Drawn) -> None:
        """Remember the generation a plan draws from, if other nodes can make it from its key."""
        sampler = plan.sampler
        found = sampler.course(plan.name) if isinstance(sampler, StreamSampler) else None
        if found is None or found[0] in self._places:
            return
        key, order = found
        if not np.array_equal(course(key, self._rows.numbers), order):
            return  # it has rows of other jobs
        positions = self._order(key)
        places = np.empty(positions.size, np.int64)
        places[positions] = np.arange(positions.size)
        _keep(self._places, key, places)

    def _order(self, key: Course) -> Array:
        if key not in self._orders:
            found = self._rows.positions(course(key, self._rows.numbers))
            _keep(self._orders, key, found)
        return self._orders[key]


def _keep(kept: OrderedDict[Course, Array], key: Course, value: Array) -> None:
    kept[key] = value
    while len(kept) > _MOST_KEPT:
        kept.popitem(last=False)


def _spans(places: Array) -> Array:
    """Return runs of places as pairs: the first place, and how many."""
    first = np.flatnonzero(np.r_[True, places[1:] != places[:-1] + 1]) if places.size else places
    counts = np.diff(np.r_[first, places.size])
    return np.stack([places[first], counts], 1).ravel()
