"""Windows of neighbours against a search over all prefixes and all parts."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joader.cache import neighbors
from joader.cache.neighbors import find_window
from joader.cache.slots import Slots


@st.composite
def layouts(draw):
    """Draw slots filled with ranges, some freed again, and an order in which some may leave."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=12))
    slots = Slots(64 * sum(sizes))
    offsets = [slots.allocate(64 * size) for size in sizes]
    fates = [draw(st.sampled_from(["free", "pinned", "leaves", "leaves"])) for _ in offsets]
    for offset, fate in zip(offsets, fates, strict=True):
        if fate == "free":
            slots.free(offset)
    leaving = [o for o, fate in zip(offsets, fates, strict=True) if fate == "leaves"]
    return slots, draw(st.permutations(leaving)), 64 * draw(st.integers(1, sum(sizes)))


def runs(slots, offsets):
    """List the runs of neighbouring ranges that are free or among these offsets."""
    found = [[]]
    for start, end, taken in slots.ranges(0, slots.capacity_bytes):
        if taken and start not in offsets:
            found.append([])
        else:
            found[-1].append((start, end, taken))
    return [run for run in found if run]


def longest(slots, offsets):
    return max((run[-1][1] - run[0][0] for run in runs(slots, offsets)), default=0)


def taken_in(part):
    return [start for start, _, taken in part if taken]


@settings(deadline=None, max_examples=250)
@given(layouts())
def test_the_window_lies_in_the_shortest_prefix_that_is_enough(layout):
    slots, order, size = layout
    if slots.largest_free_bytes >= size:
        return
    found = find_window(slots, order, size, lambda offset: offset in order)
    prefixes = [order[:count] for count in range(len(order) + 1)]
    enough = [prefix for prefix in prefixes if longest(slots, prefix) >= size]
    if not enough:
        assert found is None
        return
    assert set(found) <= set(enough[0])
    parts = [
        taken_in(run[first : last + 1])
        for run in runs(slots, enough[0])
        for first in range(len(run))
        for last in range(first, len(run))
        if run[last][1] - run[first][0] >= size
    ]
    assert len(found) == min(map(len, parts))
    assert longest(slots, found) >= size


@settings(deadline=None, max_examples=250)
@given(layouts(), st.integers(0, 4))
def test_an_impatient_search_finds_a_window_whenever_there_is_one(layout, patience):
    slots, order, size = layout
    if slots.largest_free_bytes >= size:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neighbors, "PATIENCE", patience)
        found = find_window(slots, order, size, lambda offset: offset in order)
    assert (found is None) == (longest(slots, order) < size)
    if found is not None:
        assert set(found) <= set(order)
        assert longest(slots, found) >= size


def test_two_cheap_neighbours_leave_rather_than_one_dear_range():
    slots = Slots(64 * 5)
    dear, left, _, right = (slots.allocate(64 * size) for size in (2, 1, 1, 1))
    order = [left, right, dear]
    assert find_window(slots, order, 128, order.__contains__) == [dear]
    slots = Slots(64 * 5)
    dear, left, right, _ = (slots.allocate(64 * size) for size in (2, 1, 1, 1))
    order = [left, right, dear]
    assert find_window(slots, order, 128, order.__contains__) == [left, right]
