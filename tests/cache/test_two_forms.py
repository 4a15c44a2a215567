"""When a raw form is kept beside prepared samples, or in their place."""

import numpy as np
import pytest

from joader.cache import READY
from joader.cache.cache import Cache
from joader.cache.two_forms import LEAST_READ_S, LEAST_TIMED, TwoForms, Way

RAW, PREPARED = 100, 200  # bytes
ROWS = 50
RAW_BASE = 1000


def way(base: int = 0, read_s: float = 0.02, fresh: bool = False, timed: int = LEAST_TIMED) -> Way:
    """Return a way whose rows take so long to read, and 8 ms to prepare."""
    made = Way(
        base,
        RAW_BASE,
        ROWS,
        prepared_bytes=lambda: PREPARED,
        raw_bytes=lambda: RAW,
        uses_per_s=lambda: 1.0,
        fresh=lambda: fresh,
    )
    made.note(read_s * timed, timed, 0.008 * timed, timed)
    return made


def forms(*ways: Way, capacity: int = 64 * ROWS) -> TwoForms:
    found = TwoForms(Cache(capacity))
    for one in ways:
        found.add(one)
    return found


def put(two: TwoForms, home: int, size: int) -> int:
    """Put a ready sample into the cache."""
    sample = two._table.add(home)
    two._cache.reserve(sample, size)
    two._cache.prepared(sample)
    return sample


def test_a_byte_of_a_raw_form_is_worth_what_it_saves_beside_a_prepared_one() -> None:
    # 20 ms in 100 bytes against 28 ms in 200.
    assert way().ratio(RAW) == pytest.approx((0.020 / 100) / (0.028 / 200))
    assert way(read_s=0.0).ratio(RAW) == 0.0


def test_what_is_read_from_the_page_cache_or_was_timed_rarely_is_not_looked_at() -> None:
    assert way(read_s=LEAST_READ_S).pays
    assert not way(read_s=0.99 * LEAST_READ_S).pays
    assert not way(timed=LEAST_TIMED - 1).pays
    two = forms(capacity=64)
    assert not two.wants_raw(way(timed=LEAST_TIMED - 1, fresh=True), 3, RAW)


def test_later_reports_outweigh_earlier_ones() -> None:
    found = way(read_s=0.02)
    for _ in range(100):
        found.note(0.002, 1, 0.0, 0)
    assert found.costs.read_s == pytest.approx(0.002, rel=0.2)


def test_with_room_the_prepared_form_is_kept_and_without_it_the_denser_one() -> None:
    dear, cheap = way(), way(base=100, read_s=0.002)
    roomy, full = forms(dear, cheap), forms(dear, cheap, capacity=64)
    sample = put(full, 0, 64)
    assert not full.has_room
    assert roomy.has_room
    assert not roomy.wants_raw(dear, 3, RAW)
    assert full.wants_raw(dear, 3, RAW)
    assert full.wants_raw(cheap, 3, 0)  # its size is not known yet
    assert not full.wants_raw(cheap, 3, RAW)
    assert not full.keeps_raw(cheap, 0, sample, 99, RAW)
    assert full.keeps_raw(dear, 0, sample, 99, RAW)


def test_what_is_prepared_anew_each_time_keeps_its_raw_form() -> None:
    anew = way(fresh=True)
    two = forms(anew)
    assert two.wants_raw(anew, 3, RAW)
    assert two.keeps_raw(anew, 3, 0, 1, RAW)


def test_bytes_of_a_sample_whose_raw_form_was_chosen_count_as_room_until_either_leaves() -> None:
    dear = way()
    two = forms(dear, capacity=1024)
    sample, raw = put(two, 0, 1024), 77
    assert two.keeps_raw(dear, 0, sample, raw, RAW)
    assert two.has_room
    two.gone([raw])
    assert not two.has_room
    assert two.keeps_raw(dear, 0, sample, raw, RAW)
    two.gone([sample])
    assert not two.has_room


def test_a_row_that_others_prepare_in_another_way_keeps_its_raw_form_until_they_have_it() -> None:
    mine, other = way(), way(base=100)
    two = forms(mine, other)
    assert not two.others(mine, 3)
    two._demand.begin(1, [103, 104])
    assert two.others(mine, 3)
    assert not two.others(mine, 5)
    assert not two.others(other, 3)  # its own jobs need it, which is another matter
    put(two, 103, PREPARED)
    assert not two.others(mine, 3)
    two._demand.begin(2, [RAW_BASE + 5])
    assert two.others(mine, 5)


def test_a_prepared_sample_counts_for_its_preparation_only_if_its_raw_form_is_here() -> None:
    dear = way()
    two = forms(dear)
    two._demand.begin(1, range(ROWS))
    two._demand.rate(1, float(ROWS))
    alone, with_raw, raw = put(two, 0, PREPARED), put(two, 1, PREPARED), put(two, RAW_BASE + 1, RAW)
    rates = np.zeros(3)
    rates[:2] = two._demand.rates(np.array([0, 1]))
    two.weigh([alone, with_raw, raw], rates)
    assert rates[1] / rates[0] == pytest.approx(8 / 28)
    # Rates are told per byte by sizes of slots: what counts is the ratio.
    slot = two._table.size.cells[raw]
    assert rates[2] / rates[0] == pytest.approx(dear.ratio(slot))


def test_raw_forms_are_found_counted_and_forgotten_with_their_way() -> None:
    dear = way()
    two = forms(dear)
    assert two.raw_of(dear, 4) is None
    sample = put(two, RAW_BASE + 4, RAW)
    assert two.raw_of(dear, 4) == sample
    assert two._table.state.cells[sample] == READY
    assert two.raw_here() == (1, two._table.size.cells[sample])
    assert two
    two.remove(dear.base)
    assert not two
    assert two._demand.weigh is None
    assert two.raw_here() == (0, 0)
