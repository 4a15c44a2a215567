"""How many rows a worker should have in hand, and how fast a job reads."""

import pytest

from joader.schedule.limits.pace import MOST_CHUNK, ReadingPace, RowPace


def test_rows_that_are_not_known_to_be_quick_go_out_one_by_one() -> None:
    pace = RowPace()
    assert pace.chunk == 1
    assert not pace.heavy
    for _ in range(50):
        pace.note(1.0, 1)
    assert pace.chunk == 1
    assert pace.heavy


@pytest.mark.parametrize(("row_s", "chunk"), [(1e-5, MOST_CHUNK), (0.001, 40), (0.008, 5)])
def test_a_chunk_keeps_a_worker_busy_for_a_moment_and_is_never_too_large(
    row_s: float, chunk: int
) -> None:
    pace = RowPace()
    for _ in range(50):
        pace.note(4 * row_s * 0.99, 4)
    assert pace.chunk == chunk


def test_one_slow_row_does_not_make_quick_ones_go_out_one_by_one() -> None:
    pace = RowPace()
    for _ in range(50):
        pace.note(0.01, 10)
    pace.note(5.0, 1)
    assert pace.row_s < 0.002
    for _ in range(50):
        pace.note(0.1, 1)  # but many do
    assert pace.chunk == 1


def test_more_rows_that_wait_for_a_network_are_in_hand() -> None:
    pace = RowPace()
    pace.note(1.0, 1)
    usual = pace.low
    pace.keep(3)
    assert pace.low > usual


def test_the_pace_of_a_job_does_not_depend_on_its_batches() -> None:
    for size in (10, 50):
        pace = ReadingPace(size, 4.0)
        assert not pace.known
        for step in range(400 // size):
            pace.note(size, 100.0 + step * size / 20)
        assert pace.known
        assert pace.per_s == pytest.approx(20.0, rel=0.05)


def test_a_row_computes_waits_for_a_storage_and_wants_a_processor() -> None:
    pace = RowPace()
    assert pace.parts_s == (0.0, 0.0, 0.0)  # not known, rather than guessed
    pace.note(1.0, 2, computed_s=0.2, waited_s=0.6)  # 0.2 s without a processor
    assert pace.parts_s == pytest.approx((0.1, 0.3, 0.1))
    assert pace.row_s == pytest.approx(0.5)
