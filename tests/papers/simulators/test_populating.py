"""Memory is filled by homes and room; before the pass only if that pays."""

import hypothesis.strategies as st
from hypothesis import given, settings

from joader.schedule.nodes.assignment import NOBODY
from papers.simulators.populating import FirstPass, holders
from tests.trials import trials


@given(
    homes=st.lists(st.integers(0, 3), max_size=50),
    room=st.lists(st.integers(0, 20), min_size=4, max_size=4),
    more=st.integers(0, 5),
)
@settings(max_examples=trials(500, 80), deadline=None)
def test_a_node_keeps_its_first_rows_as_long_as_it_has_room(
    homes: list[int], room: list[int], more: int
) -> None:
    found = holders(homes, room).tolist()
    left = list(room)
    for row, home in enumerate(homes):
        assert found[row] == (home if left[home] > 0 else NOBODY)
        left[home] -= 1
    grown = holders(homes, [one + more for one in room]).tolist()
    assert all(
        now in (before, homes[row])
        for row, (before, now) in enumerate(zip(found, grown, strict=True))
    )


def test_memory_is_filled_before_the_pass_only_if_ordered_reads_are_that_much_faster() -> None:
    quick_disk = FirstPass(1000, training=10.0, random_reads=8.0, ordered_reads=12.0)
    assert (quick_disk.during_s, quick_disk.fill_before) == (125.0, False)
    archives = FirstPass(1000, training=10.0, random_reads=1.0, ordered_reads=12.0)
    assert archives.before_s < archives.during_s == 1000.0
    assert archives.fill_before
