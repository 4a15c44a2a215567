"""Which taken ranges to free together when no single one makes a hole that is large enough.

Ranges are set free, in thought only, in the order in which their samples should leave, until some
of them form with their free neighbours one hole of the size asked for. So the most valuable range
inside the window is the least valuable possible. Of that hole the part with the fewest taken
ranges is chosen; all other ranges stay. From time to time the largest holes are widened at their
ends over ranges that are worth no more than the one just come to: they would have come to the same.
Where all this takes too long, the largest hole is widened over ranges of any value.
With equal sizes the first range is always enough, and this module is not asked.
"""

from collections.abc import Callable, Iterable

from joader.cache.slots import Slots

# Ranges gone through in order before a hole is widened: about 1 ms. Small samples that nobody needs
# pile up at the head of the order where their neighbours are needed, so without a bound RefCount
# went through 190 of 10,000 and 670 of 40,000 residents on average (sizes 50-250 kB, two jobs).
PATIENCE = 512
# After 8, 16, 32, … ranges some of the largest holes are tried with neighbours of equal worth: for
# six jobs with crops of photos of 0.1 to 3 MB this cut what the engine costs to a third.
FIRST_LOOK = 8
MOST_HOLES = 4


def find_window(
    slots: Slots,
    offsets: Iterable[int],
    size_bytes: int,
    may_leave: Callable[[int], bool],
    worth_no_more: Callable[[int, int], bool] = lambda offset, than: False,
) -> list[int] | None:
    """Return the offsets of the ranges to free, or None where freeing all is not enough.

    `offsets` are all taken ranges that may leave, first to leave first; `may_leave` tells the same
    of any one, `worth_no_more` of two that the first may leave as gladly as the second.
    `size_bytes` is a size as `round_up` gives it.
    """
    end_of: dict[int, int] = {}  # holes there would be, each with the free ranges beside it
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
        # A hole made before took in the free ranges beside it, so it ends where this range starts.
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
    """Widen a hole at its end until it is large enough, the largest that can be; empty if none."""
    for start, end in sorted(holes.items(), key=lambda hole: hole[0] - hole[1])[:most]:
        while end - start < size_bytes and end < slots.capacity_bytes and may_leave(end):
            end = slots.hole_around(end)[1]
        if end - start >= size_bytes:
            return _cheapest_part(slots.ranges(start, end), size_bytes)
    return []


def _cheapest_part(ranges: list[tuple[int, int, bool]], size_bytes: int) -> list[int]:
    """Choose neighbours that are large enough together: fewest taken, then fewest taken bytes."""
    parts = []  # the shortest from each range on, as (taken, taken bytes, first, last)
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
