"""Byte ranges against a list of (offset, size)."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from joader.cache import Slots
from joader.cache.slots import AMPLE
from joader.errors import BadArgument, SampleTooLarge

CAPACITY = 20 * 64


class SlotsAgainstAList(RuleBasedStateMachine):
    """Every allocation checked against the holes found by looking at all ranges."""

    def __init__(self):
        super().__init__()
        self.slots = Slots(CAPACITY + 63)
        self.taken = []

    def holes(self):
        """List (offset, size) of the free ranges, from scratch."""
        found, start = [], 0
        for offset, size in [*sorted(self.taken), (CAPACITY, 0)]:
            if offset > start:
                found.append((start, offset - start))
            start = offset + size
        return found

    @rule(size=st.integers(0, 8 * 64))
    def allocate(self, size):
        rounded = max(64, -(-size // 64) * 64)
        fitting = [hole for hole in self.holes() if hole[1] >= rounded]
        offset = self.slots.allocate(size)
        if not fitting:
            assert offset is None
            return
        smallest = min(hole_size for _, hole_size in fitting)
        assert offset in [start for start, hole_size in fitting if hole_size == smallest]
        self.taken.append((offset, rounded))

    @rule(size=st.integers(CAPACITY + 1, 2 * CAPACITY))
    def allocate_more_than_there_is(self, size):
        with pytest.raises(SampleTooLarge, match=str(CAPACITY)):
            self.slots.allocate(size)

    @rule(count=st.integers(0, 4), size=st.integers(0, 3 * 64))
    def allocate_a_run(self, count, size):
        rounded = max(64, -(-size // 64) * 64)
        ample = [hole for hole in self.holes() if hole[1] >= AMPLE * count * rounded]
        starts = list(self.slots.allocate_run(count, size))
        assert len(starts) == (count if ample else 0)
        self.taken += [(start, rounded) for start in starts]

    @precondition(lambda self: self.taken)
    @rule(data=st.data())
    def free(self, data):
        place = data.draw(st.integers(0, len(self.taken) - 1))
        self.slots.free(self.taken.pop(place)[0])

    @rule(offset=st.integers(-64, CAPACITY))
    def free_what_is_not_taken(self, offset):
        if offset not in [start for start, _ in self.taken]:
            with pytest.raises(BadArgument):
                self.slots.free(offset)

    @invariant()
    def ranges_are_aligned_disjoint_and_coalesced(self):
        holes = self.holes()
        expected = [(o, o + s, True) for o, s in self.taken] + [(o, o + s, False) for o, s in holes]
        assert self.slots.ranges(0, CAPACITY) == sorted(expected)
        assert all(start % 64 == 0 and end % 64 == 0 for start, end, _ in expected)
        assert self.slots.free_bytes == sum(size for _, size in holes)
        assert self.slots.largest_free_bytes == max((size for _, size in holes), default=0)

    @invariant()
    def each_range_knows_the_hole_it_would_leave(self):
        starts = dict(self.holes())
        ends = {offset + size: offset for offset, size in self.holes()}
        for offset, size in self.taken:
            end = offset + size
            hole = (ends.get(offset, offset), end + starts.get(end, 0))
            assert self.slots.hole_around(offset) == hole
            assert self.slots.size_bytes(offset) == size


TestSlotsAgainstAList = SlotsAgainstAList.TestCase
TestSlotsAgainstAList.settings = settings(deadline=None, max_examples=80, stateful_step_count=50)


def test_an_empty_sample_takes_one_unit():
    slots = Slots(128)
    assert slots.allocate(0) == 0
    assert slots.free_bytes == 64


def test_the_smallest_hole_that_fits_is_taken():
    slots = Slots(64 * 10)
    offsets = [slots.allocate(size * 64) for size in (3, 1, 2, 1, 3)]
    for place in (0, 2, 4):
        slots.free(offsets[place])
    assert slots.allocate(100) == offsets[2]


def test_a_negative_size_and_a_capacity_below_one_unit_are_refused():
    with pytest.raises(BadArgument):
        Slots(63)
    with pytest.raises(BadArgument):
        Slots(64).allocate(-1)
