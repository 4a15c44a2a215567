"""Byte ranges against a list of (offset, size)."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from joader.cache.runs import Slots
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

    @precondition(lambda self: self.taken)
    @rule(data=st.data())
    def free(self, data):
        place = data.draw(st.integers(0, len(self.taken) - 1))
        self.slots.free(self.taken.pop(place)[0])

    @precondition(lambda self: self.taken)
    @rule(data=st.data(), units=st.integers(1, 3))
    def split(self, data, units):
        place = data.draw(st.integers(0, len(self.taken) - 1))
        offset, size = self.taken.pop(place)
        self.slots.split(offset, 64 * units)
        starts = range(offset, offset + size, 64 * units)
        self.taken += [(start, min(64 * units, offset + size - start)) for start in starts]

    @rule(offset=st.integers(-64, CAPACITY))
    def free_or_split_what_is_not_taken(self, offset):
        if offset not in [start for start, _ in self.taken]:
            with pytest.raises(BadArgument):
                self.slots.free(offset)
            with pytest.raises(BadArgument):
                self.slots.split(offset, 64)

    @invariant()
    def ranges_are_aligned_and_disjoint_and_free_ones_are_merged(self):
        holes = self.holes()
        assert all(offset % 64 == 0 for offset, _ in self.taken)
        assert sum(size for _, size in self.taken + holes) == CAPACITY  # more if two overlap
        assert self.slots.free_bytes == sum(size for _, size in holes)
        assert self.slots.largest_free_bytes == max((size for _, size in holes), default=0)


TestSlotsAgainstAList = SlotsAgainstAList.TestCase
TestSlotsAgainstAList.settings = settings(deadline=None, max_examples=60, stateful_step_count=40)


def test_the_smallest_hole_that_fits_is_taken():
    slots = Slots(64 * 10)
    offsets = [slots.allocate(size * 64) for size in (3, 1, 2, 1, 3)]
    for place in (0, 2, 4):
        slots.free(offsets[place])
    assert slots.allocate(100) == offsets[2]


def test_parts_of_a_range_are_free_one_by_one_and_merge_again():
    slots = Slots(64 * 8)
    assert slots.allocate(64 * 8) == 0
    slots.split(0, 2 * 64)
    for offset in (0, 4 * 64):
        slots.free(offset)
    assert (slots.free_bytes, slots.largest_free_bytes) == (4 * 64, 2 * 64)
    slots.free(2 * 64)
    assert slots.largest_free_bytes == 6 * 64


def test_an_empty_range_takes_one_unit():
    slots = Slots(128)
    assert slots.allocate(0) == 0
    assert slots.free_bytes == 64


def test_a_negative_size_and_a_capacity_below_one_unit_are_refused():
    with pytest.raises(BadArgument):
        Slots(63)
    with pytest.raises(BadArgument):
        Slots(64).allocate(-1)
