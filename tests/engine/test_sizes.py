"""How large the next slot is, from the sizes of samples so far."""

from joader.engine.sizes import RECENT, Sizes


def test_nothing_is_reserved_before_a_size_is_known() -> None:
    assert (Sizes().slot_bytes, Sizes().usual_bytes) == (0, 0)


def test_equal_samples_get_slots_of_their_size_in_lines_of_64_bytes() -> None:
    sizes = Sizes()
    for _ in range(3):
        sizes.note(100)
    assert (sizes.slot_bytes, sizes.usual_bytes) == (128, 128)


def test_samples_that_differ_get_the_usual_size_and_not_the_largest() -> None:
    sizes = Sizes()
    for size_bytes in (64, 64, 64, 640):
        sizes.note(size_bytes)
    assert sizes.usual_bytes == 208
    assert sizes.slot_bytes == 256


def test_once_the_latest_are_equal_an_odd_one_long_ago_does_not_matter() -> None:
    sizes = Sizes()
    sizes.note(6400)
    for _ in range(RECENT - 1):
        sizes.note(64)
    assert sizes.slot_bytes > 64
    sizes.note(64)
    assert sizes.slot_bytes == 64
    assert sizes.usual_bytes > 64
