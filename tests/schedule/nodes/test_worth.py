"""What is fetched, and what is prepared here, by what was measured.

The source that has a sample first, by rates that were measured.
"""

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from joader.errors import BadArgument
from joader.schedule.nodes.worth import (
    MOST_PATIENCE_S,
    MOST_ROWS,
    PATIENCE_S,
    Form,
    Source,
    Worth,
    fastest,
)
from tests.trials import trials

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


SIZE: dict[Form, int] = {"raw": 110_000, "prepared": 196_608}
MEMORY = Source("memory", "prepared", 6e9)
NEIGHBOR = Source("b", "prepared", 1.2e9, 0.0002)
NEIGHBOR_RAW = Source("b", "raw", 1.2e9, 0.0002)
STORAGE = Source("storage", "raw", 100e6, 0.005)


@pytest.mark.parametrize(
    ("sources", "prepare_s", "place", "form"),
    [
        ([STORAGE, NEIGHBOR, MEMORY], 0.002, "memory", "prepared"),
        ([STORAGE, NEIGHBOR], 0.002, "b", "prepared"),
        ([STORAGE], 0.002, "storage", "raw"),
        # Preparing costs next to nothing: the smaller form travels faster.
        ([NEIGHBOR, NEIGHBOR_RAW], 0.00001, "b", "raw"),
        # What waits at the neighbor takes longer than storage does.
        ([STORAGE, Source("b", "prepared", 1.2e9, 0.0002, waits_s=0.02)], 0.002, "storage", "raw"),
    ],
)
def test_a_sample_comes_from_where_it_is_here_first(
    sources: list[Source], prepare_s: float, place: str, form: Form
) -> None:
    found = fastest(sources, SIZE, prepare_s)
    assert (found.place, found.form) == (place, form)


def test_somebody_must_have_it() -> None:
    with pytest.raises(BadArgument, match="no place has this sample"):
        fastest([], SIZE, 0.0)


@given(rates=st.lists(st.floats(0.1, 10), min_size=1, max_size=4), rows=st.integers(1, 60))
@settings(max_examples=trials(300, 50), deadline=None)
def test_rows_spread_over_sources_end_within_a_row_of_the_best_split(
    rates: list[float], rows: int
) -> None:
    sources = [Source(f"n{place}", "prepared", rate) for place, rate in enumerate(rates)]
    unit: dict[Form, int] = {"raw": 1, "prepared": 1}
    for _ in range(rows):
        taken = fastest(sources, unit, 0.0)
        sources[sources.index(taken)] = taken.after(1)
    ends = max(source.waits_s for source in sources)
    # However rows are split, some source ends at `best` or later: rows / sum(rates) rounded up.
    best = least_end(rates, rows)
    assert ends == pytest.approx(best)


def least_end(rates: list[float], rows: int) -> float:
    """Return the earliest end of all splits: the smallest time by which `rows` can be done."""
    times = sorted(count / rate for rate in rates for count in range(1, rows + 1))
    return next(time for time in times if sum(int(time * rate + 1e-9) for rate in rates) >= rows)
