"""Which taken ranges to free together when no single one makes a hole that is large enough.

Ranges are freed, hypothetically, in the order in which their samples should leave, until some of
them form one hole of the requested size together with their free neighbors. So the most valuable
range inside the window is as cheap as possible. Of that hole the part with the fewest taken ranges
is chosen; all other ranges stay. From time to time the largest holes are extended over neighbors
worth no more than the current range; going on in order would free the same ones. If all this takes
too long, the largest hole is extended over ranges of any value.
With equal sizes the first range is always enough, and this module is not called.
"""

from collections.abc import Callable, Iterable

from joader.cache.slots import Slots

# Ranges visited in order before a hole is extended at any price: about 1 ms. Small samples that no
# job needs pile up at the head of the order if their neighbors are needed, so without a bound
# RefCount visited 190 of 10,000 and 670 of 40,000 samples on average (sizes 50-250 kB, two jobs).
PATIENCE = 512
# After 8, 16, 32, … ranges some of the largest holes are tried with neighbors of equal worth: for
# six jobs with crops of photos of 0.1 to 3 MB this cut the engine's cost to a third.
FIRST_LOOK = 8
MOST_HOLES = 4


def find_window(
    slots: Slots,
    offsets: Iterable[int],
    size_bytes: int,
    may_leave: Callable[[int], bool],
    worth_no_more: Callable[[int, int], bool] = lambda offset, than: False,
) -> list[int] | None:
    """Return the offsets of the ranges to free, or None if freeing all is not enough.

    `offsets` are all taken ranges that may leave, first to leave first. `may_leave` says whether a
    given range may leave; `worth_no_more`, whether freeing the first of two costs no more than
    freeing the second. `size_bytes` must already be rounded by `round_up`.
    """
    end_of: dict[int, int] = {}  # hypothetical holes, each with the free ranges beside it
    start_of: dict[int, int] = {}
    for count, offset in enumerate(offsets):
        if count == PATIENCE and (window := _widened(slots, end_of, size_bytes, may_leave)):
            return window
        if count >= FIRST_LOOK and count & (count - 1) == 0:

            def equal(other: int, than: int = offset) -> bool:
                return may_leave(other) and worth_no_more(other, than)

            if window := _widened(slots, end_of, size_bytes, equal, MOST_HOLES):
                return window
        border = offset + slots.size_bytes(offset)
        start, end = slots.hole_around(offset)
        # An earlier hole includes the free ranges beside it, so it ends where this range starts.
        if offset in start_of:
            start = start_of.pop(offset)
        if border in end_of:
            end = end_of.pop(border)
        if end - start >= size_bytes:
            return _cheapest_part(slots.ranges(start, end), size_bytes)
        end_of[start] = end
        start_of[end] = start
    return None


def _widened(
    slots: Slots,
    holes: dict[int, int],
    size_bytes: int,
    may_leave: Callable[[int], bool],
    most: int | None = None,
) -> list[int]:
    """Extend the largest hole that can be made large enough; return [] if there is none."""
    for start, end in sorted(holes.items(), key=lambda hole: hole[0] - hole[1])[:most]:
        while end - start < size_bytes and end < slots.capacity_bytes and may_leave(end):
            end = slots.hole_around(end)[1]
        if end - start >= size_bytes:
            return _cheapest_part(slots.ranges(start, end), size_bytes)
    return []


def _cheapest_part(ranges: list[tuple[int, int, bool]], size_bytes: int) -> list[int]:
    """Choose neighbors that are large enough together: fewest taken, then fewest taken bytes."""
    # Two pointers: for each first range the shortest run that is large enough.
    parts = []  # as (taken, taken bytes, first, last)
    last = taken = taken_bytes = 0
    for first, (start, end, is_taken) in enumerate(ranges):
        while last < len(ranges) and (last == first or ranges[last - 1][1] - start < size_bytes):
            taken += ranges[last][2]
            taken_bytes += (ranges[last][1] - ranges[last][0]) * ranges[last][2]
            last += 1
        if ranges[last - 1][1] - start >= size_bytes:
            parts.append((taken, taken_bytes, first, last))
        taken -= is_taken
        taken_bytes -= (end - start) * is_taken
    _, _, first, last = min(parts)
    return [offset for offset, _, is_taken in ranges[first:last] if is_taken]
