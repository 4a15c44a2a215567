"""The source that has a sample first, by rates that were measured."""

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from joader.errors import BadArgument
from joader.schedule.nodes.fetching import Form, Source, fastest
from tests.trials import trials

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
