"""What claimants have had of all workers of a node.

A bucket of worker-seconds.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joader.schedule.work.accounts import BURST_S, SAVED_S, Accounts, Quota


def test_all_crews_of_a_recipe_have_one_account() -> None:
    accounts = Accounts()
    assert accounts.of_recipe("a") is accounts.of_recipe("a")
    assert accounts.of_recipe("a") is not accounts.of_recipe("b")
    assert accounts.of_job(1) is accounts.of_job(1)


def test_a_larger_share_makes_time_cheaper() -> None:
    account = Accounts().of_recipe("a")
    account.share = 4.0
    account.charge(2.0)
    assert (account.spent_s, account.used_s) == (0.5, 2.0)


def test_who_comes_back_has_saved_up_a_moment_and_no_more() -> None:
    accounts = Accounts()
    busy, back = accounts.of_recipe("busy"), accounts.of_recipe("back")
    back.share = 2.0
    busy.charge(100.0)
    busy.take_turn()
    back.come_back()
    assert back.spent_s == pytest.approx(100.0 - SAVED_S / 2)
    back.charge(50.0)
    back.come_back()
    assert back.spent_s == pytest.approx(125.0 - SAVED_S / 2)


def test_a_quota_closes_one_account_and_the_ceiling_closes_all() -> None:
    accounts = Accounts()
    one, other = accounts.of_recipe("a"), accounts.of_job(1)
    one.quota = Quota(1.0, 0.0)
    one.charge(10.0)
    assert (one.open, other.open) == (False, True)
    assert accounts.opens_in_s == pytest.approx(9.8)
    accounts.ceiling = Quota(2.0, 0.0)
    other.charge(1.0)
    assert not other.open
    assert accounts.opens_in_s == pytest.approx(0.3)
    accounts.pass_time(20.0)
    assert one.open
    assert other.open
    assert accounts.opens_in_s == 0.0


def test_another_share_leaves_an_account_as_many_seconds_behind_as_it_was() -> None:
    accounts = Accounts()
    one, other = accounts.of_recipe("a"), accounts.of_recipe("b")
    one.share, other.share = 0.01, 1.0
    other.charge(3.0)
    other.take_turn()
    one.charge(0.05)  # it has had five seconds by its share
    one.share = 1.0
    assert one.spent_s - accounts.level_s == pytest.approx((5.0 - 3.0) * 0.01)


def test_under_other_rules_nobody_pays_for_long_what_it_had_before() -> None:
    accounts = Accounts()
    ahead, behind = accounts.of_recipe("a"), accounts.of_recipe("b")
    accounts.of_recipe("c").charge(50.0)
    accounts.of_recipe("c").take_turn()
    ahead.charge(100.0)
    accounts.forgive()
    assert ahead.spent_s == pytest.approx(50.0 + SAVED_S)
    assert behind.spent_s == pytest.approx(50.0 - SAVED_S)


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
