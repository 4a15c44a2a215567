"""Who may run where against who wants what, against theory and against brute force."""

from itertools import product
from math import inf

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from joader.schedule.shares.policies.fair import fair
from joader.schedule.shares.policies.need import Need
from joader.schedule.work.flow import Home, Wish, capacity, home_of, max_min


def wish(*homes: str, most: float = inf, weight: float = 1.0) -> Wish:
    return Wish(most, weight, frozenset(homes))


def processors(*numbers: int) -> Home:
    return Home(float(len(numbers)), frozenset(numbers))


def test_a_home_is_known_by_its_name() -> None:
    assert home_of("/slurm/job_7 on 0,1,5", 2) == Home(2.0, frozenset({0, 1, 5}))
    assert home_of("", 3) == Home(3.0)
    assert home_of("on the moon", 3) == Home(3.0)


def test_what_homes_have_together_counts_every_processor_once() -> None:
    assert capacity({"a": processors(0, 1), "b": processors(2, 3, 4)}) == pytest.approx(5)
    assert capacity({"a": processors(0, 1, 2), "b": processors(1, 2, 3)}) == pytest.approx(4)
    quota = Home(1.0, frozenset(range(8)))  # a cgroup's
    assert capacity({"a": quota, "b": processors(*range(8))}) == pytest.approx(8)
    assert capacity({"a": quota, "b": quota}) == pytest.approx(2)
    assert capacity({"a": Home(2.0), "b": Home(3.0)}) == pytest.approx(5)


def test_jobs_on_disjoint_cores_have_their_own_each() -> None:
    homes = {"one": processors(0), "many": processors(*range(1, 8))}
    assert max_min([wish("one"), wish("many")], homes) == pytest.approx([1, 7], abs=0.01)


def test_a_full_home_leaves_the_rest_to_who_can_use_it() -> None:
    """Two jobs share one core; the third may run on all, and takes what they cannot."""
    homes = {"one": processors(0), "all": processors(*range(4))}
    got = max_min([wish("one"), wish("one"), wish("all")], homes)
    assert got == pytest.approx([0.5, 0.5, 3.0], abs=0.01)


def test_who_has_workers_in_two_homes_gets_time_of_both() -> None:
    homes = {"a": processors(0, 1), "b": processors(2, 3)}
    assert max_min([wish("a"), wish("a", "b")], homes) == pytest.approx([2, 2], abs=0.01)
    assert max_min([wish("a", weight=3), wish("a", "b")], homes) == pytest.approx([2, 2], abs=0.01)
    got = max_min([wish("a"), wish("b"), wish("a", "b", weight=4.0)], homes)
    assert got == pytest.approx([2 / 3, 2 / 3, 8 / 3], abs=0.01)


def test_a_quota_is_kept() -> None:
    homes = {"box": Home(1.0, frozenset(range(4))), "free": processors(*range(4))}
    assert max_min([wish("box"), wish("free")], homes) == pytest.approx([1, 3], abs=0.01)


def test_who_wants_less_leaves_the_rest() -> None:
    homes = {"a": processors(0, 1)}
    got = max_min([wish("a", most=0.2), wish("a"), wish("a", most=0.0)], homes)
    assert got == pytest.approx([0.2, 1.8, 0.0], abs=0.01)


def test_nobody_wants_anything() -> None:
    assert max_min([], {}) == []


WISHES = st.lists(
    st.tuples(st.sampled_from([0.1, 0.5, 1.0, 3.0, inf]), st.sampled_from([0.5, 1.0, 2.0, 4.0])),
    min_size=1,
    max_size=5,
)


@settings(deadline=None, max_examples=50)
@given(wanted=WISHES, cores=st.integers(1, 8))
def test_with_one_home_it_is_what_fair_gives(wanted: list[tuple[float, float]], cores: int) -> None:
    got = max_min([wish("a", most=m, weight=w) for m, w in wanted], {"a": Home(float(cores))})
    assert got == pytest.approx(fair([Need(m, w) for m, w in wanted], cores), abs=0.01)


HOMES = st.lists(st.sets(st.integers(0, 4), min_size=1), min_size=1, max_size=3)


@settings(deadline=None, max_examples=40)
@given(data=st.data(), sets=HOMES)
def test_nobody_can_have_more_but_from_one_with_less(
    data: st.DataObject, sets: list[set[int]]
) -> None:
    """Feasible by Hall's condition, and no claimant that wants more could be given it."""
    homes = {f"h{n}": processors(*numbers) for n, numbers in enumerate(sets)}
    subsets = st.sets(st.sampled_from(sorted(homes)), min_size=1)
    wishes = [
        wish(*data.draw(subsets), most=data.draw(st.sampled_from([0.3, 1.0, inf])))
        for _ in range(data.draw(st.integers(1, 4)))
    ]
    got = max_min(wishes, homes)

    def feasible(shares: list[float]) -> bool:
        for chosen in product((False, True), repeat=len(wishes)):
            reach = {h for w, use in zip(wishes, chosen, strict=True) if use for h in w.homes}
            cores = set().union(*(homes[h].processors for h in reach)) if reach else set()
            if sum(s for s, use in zip(shares, chosen, strict=True) if use) > len(cores) + 0.01:
                return False
        return True

    assert feasible(got)
    for place, one in enumerate(wishes):
        if got[place] < one.most - 0.02:
            # More for this one, out of those only who have more: it does not fit.
            less = [min(g, got[place]) if n != place else g for n, g in enumerate(got)]
            less[place] += 0.05
            assert not feasible(less)
