"""What is fetched, and what is prepared here, by what was measured."""

import pytest

from joader.schedule.nodes.worth import MOST_PATIENCE_S, MOST_ROWS, PATIENCE_S, Worth

NOBODY: list[str] = []


def told(prepare_s: float, size: float, bytes_per_s: float) -> Worth:
    worth = Worth()
    worth.prepared("photos", prepare_s, size)
    worth.came("b", bytes_per_s)
    return worth


def test_few_rows_are_fetched_before_anything_was_measured() -> None:
    worth = Worth()
    assert worth.pays("photos", "b", ["b"] * (MOST_ROWS - 1) + ["c"], cores=2)
    assert not worth.pays("photos", "b", ["b"] * MOST_ROWS, cores=2)
    assert worth.too_dear == 0  # that was patience, not a price


@pytest.mark.parametrize(
    ("prepare_s", "size", "bytes_per_s", "cores", "pays"),
    [
        (0.008, 196e3, 1e9, 2, True),  # a photo over a quick link
        (0.008, 196e3, 1e7, 2, False),  # 20 ms over a slow one
        (0.008, 196e3, 1e9, 64, False),  # 64 processors make one in 0.12 ms
        (20e-6, 12e3, 1e9, 1, False),  # next to no work
    ],
)
def test_what_takes_less_time_is_done(
    prepare_s: float, size: float, bytes_per_s: float, cores: int, pays: bool
) -> None:
    worth = told(prepare_s, size, bytes_per_s)
    assert worth.pays("photos", "b", NOBODY, cores) == pays
    assert worth.too_dear == (not pays)


def test_what_does_not_pay_is_tried_again_now_and_then() -> None:
    worth = told(20e-6, 12e3, 1e9)
    tries = [worth.pays("photos", "b", NOBODY, cores=1) for _ in range(2048)]
    assert sum(tries) == 4
    worth.forget("b")  # who comes under its name may have another link
    assert worth.pays("photos", "b", NOBODY, cores=1)


def test_the_latest_counts_but_one_row_does_not_turn_it() -> None:
    worth = told(0.008, 196e3, 1e9)
    worth.came("b", 1e6)
    assert worth.pays("photos", "b", NOBODY, cores=2)
    for _ in range(80):
        worth.came("b", 1e6)
    assert not worth.pays("photos", "b", NOBODY, cores=2)


def test_patience_grows_with_what_was_asked_before_within_bounds() -> None:
    worth = told(0.01, 196e3, 1e9)
    assert worth.patience_s("photos", 0) == PATIENCE_S
    assert worth.patience_s("photos", 100) == pytest.approx(PATIENCE_S + 4.0)
    assert worth.patience_s("photos", 1 << 20) == MOST_PATIENCE_S
