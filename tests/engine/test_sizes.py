"""How large the next slot is, from the sizes of samples so far."""

from joader.engine.sizes import RECENT, Sizes


def test_nothing_is_reserved_before_a_size_is_known() -> None:
    assert (Sizes().slot_bytes, Sizes().usual_bytes) == (0, 0)


def test_equal_samples_get_slots_of_their_size_in_lines_of_64_bytes() -> None:
    sizes = Sizes()
    for _ in range(3):
        sizes.note(100)
    assert (sizes.slot_bytes, sizes.usual_bytes) == (128, 128)


def test_rows_that_differ_get_slots_once_their_size_is_known() -> None:
    sizes = Sizes(row_limit=10)
    assert sizes.of(3) == 0
    for row, size_bytes in enumerate((6400, 6400, 6400, 12_000)):
        sizes.note(size_bytes, row)
    assert sizes.differ
    assert (sizes.of(3), sizes.of(0), sizes.of(7)) == (12_288, 0, 0)
    sizes.note(6401, 0)
    assert sizes.of(0) == sizes.slot_for(6401) == 6656  # a class, so that others fit it, too
    assert sizes.usual_bytes == 7540


def test_own_parts_that_differ_get_slots_as_large_as_the_largest_of_late() -> None:
    sizes = Sizes()
    for size_bytes in (640, 6400):
        sizes.note(size_bytes)
    assert sizes.slot_bytes == 6656
    assert sizes.of(0) == 0


def test_once_the_latest_are_equal_an_odd_one_long_ago_does_not_matter() -> None:
    sizes = Sizes()
    sizes.note(6400)
    for _ in range(RECENT - 1):
        sizes.note(64)
    assert sizes.slot_bytes > 64
    sizes.note(64)
    assert sizes.slot_bytes == 64
    assert sizes.usual_bytes > 64
