"""A bucket of worker-seconds."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joader.schedule.work.quota import BURST_S, Quota


@settings(deadline=None)
@given(
    rate=st.floats(0.1, 8.0),
    chunks=st.lists(st.tuples(st.floats(0.0, 0.1), st.floats(0.0, 0.5)), min_size=1, max_size=200),
)
def test_no_more_is_used_than_its_rate_but_for_a_burst_and_what_goes_out_last(
    rate: float, chunks: list[tuple[float, float]]
) -> None:
    quota, now, used, largest = Quota(rate, 0.0), 0.0, 0.0, 0.0
    for gone_s, wanted_s in chunks:
        now += gone_s
        quota.pass_time(now)
        if quota.open:
            quota.take(wanted_s)
            used, largest = used + wanted_s, max(largest, wanted_s)
        assert used <= rate * (now + BURST_S) + largest + 1e-9


def test_it_says_when_it_opens_again() -> None:
    quota = Quota(2.0, 0.0)
    assert quota.opens_in_s == 0.0
    quota.take(2.0 * BURST_S + 1.0)
    assert not quota.open
    assert quota.opens_in_s == pytest.approx(0.5)
    quota.pass_time(quota.opens_in_s + 1e-6)
    assert quota.open


def test_who_left_it_alone_may_not_make_up_for_it() -> None:
    quota = Quota(1.0, 0.0)
    quota.pass_time(1000.0)
    assert quota.left_s == pytest.approx(BURST_S)
