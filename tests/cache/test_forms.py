"""Which form of a sample earns its memory."""

import hypothesis.strategies as st
from hypothesis import given

from joader.cache.two_forms import PREPARED, RAW, Costs, chosen, worth

DEAR_READ = Costs(0.020, 0.008, 110_000, 196_000)
DEAR_PREPARE = Costs(0.002, 0.008, 110_000, 196_000)


def test_where_there_is_room_the_form_that_saves_most_is_kept() -> None:
    assert chosen(DEAR_READ, 0.0) == PREPARED
    assert chosen(DEAR_PREPARE, 0.0) == PREPARED


def test_where_all_are_worth_the_same_more_of_the_denser_form_fit() -> None:
    assert worth(DEAR_READ, RAW) > worth(DEAR_READ, PREPARED)
    assert chosen(DEAR_READ, worth(DEAR_READ, PREPARED)) == RAW
    assert chosen(DEAR_PREPARE, worth(DEAR_PREPARE, RAW)) == PREPARED


def test_what_does_not_earn_its_memory_is_not_kept() -> None:
    assert chosen(DEAR_READ, worth(DEAR_READ, RAW)) is None
    assert chosen(DEAR_READ, worth(DEAR_READ, RAW), uses_per_s=2.0) is not None


def test_small_prepared_samples_are_always_better_than_raw_ones() -> None:
    small = Costs(0.02, 0.008, 110_000, 50_000)
    assert {chosen(small, price * worth(small, PREPARED)) for price in (0, 0.5, 0.99)} == {PREPARED}


@given(
    read_s=st.floats(1e-4, 1.0),
    prepare_s=st.floats(1e-4, 1.0),
    raw=st.integers(1, 10**6),
    prepared=st.integers(1, 10**6),
    price=st.floats(0.0, 1.0),
)
def test_no_other_form_leaves_more_over(
    read_s: float, prepare_s: float, raw: int, prepared: int, price: float
) -> None:
    costs = Costs(read_s, prepare_s, raw, prepared)
    over = {form: costs.saved_s(form) - price * costs.size_bytes(form) for form in (RAW, PREPARED)}
    form = chosen(costs, price)
    best = max(0.0, *over.values())
    assert (over[form] if form else 0.0) >= best - 1e-9 * max(1.0, best)
