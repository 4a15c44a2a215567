"""Work over the spans of a buffer."""

import threading

import pytest

from joader.recipe.fingerprint.spans import over_spans


@pytest.mark.parametrize(("size", "step"), [(0, 4), (3, 4), (4, 4), (9, 4), (1000, 7)])
def test_spans_cover_a_buffer_in_order_and_once(size: int, step: int) -> None:
    spans = over_spans(lambda start, end: (start, end), size, step)
    assert [at for start, end in spans for at in range(start, end)] == list(range(size))
    assert all(end - start == step for start, end in spans[:-1])


def test_no_thread_is_left() -> None:
    before = threading.active_count()
    over_spans(lambda start, end: end, 1000, 10)
    assert threading.active_count() == before


def test_an_error_in_a_span_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        over_spans(lambda start, end: 1 // start, 100, 10)
